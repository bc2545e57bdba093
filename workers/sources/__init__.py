"""Files of other formats as sources of rows: what they hold, and blocks of it, read in bounded memory."""
