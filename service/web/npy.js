// Arrays as numpy writes them: vectors of numbers are all that artifacts hold.

const READERS = {
  f8: (view, at, little) => view.getFloat64(at, little),
  f4: (view, at, little) => view.getFloat32(at, little),
  i8: (view, at, little) => Number(view.getBigInt64(at, little)),
  u8: (view, at, little) => Number(view.getBigUint64(at, little)),
  i4: (view, at, little) => view.getInt32(at, little),
  u4: (view, at, little) => view.getUint32(at, little),
};

/** Read a file of numbers into a plain array. Throws if it is something else. */
export function readNpy(buffer) {
  const view = new DataView(buffer);
  if (view.getUint32(0) !== 0x934e554d) throw new Error("This is not a numpy file.");
  const wide = view.getUint8(6) > 1;
  const begin = wide ? 12 : 10;
  const length = wide ? view.getUint32(8, true) : view.getUint16(8, true);
  const header = new TextDecoder("latin1").decode(new Uint8Array(buffer, begin, length));
  const [, order, kind] = /'descr':\s*'([<>|=])([a-z]\d)'/.exec(header) ?? [];
  const read = READERS[kind];
  if (!read) throw new Error(`The page cannot draw arrays of this type: ${header.slice(0, 60)}`);
  const width = Number(kind[1]);
  const first = begin + length;
  const values = new Array(Math.floor((buffer.byteLength - first) / width));
  for (let index = 0; index < values.length; index += 1) {
    values[index] = read(view, first + index * width, order !== ">");
  }
  return values;
}
