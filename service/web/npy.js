// Arrays as numpy writes them: vectors of numbers or of text are all that artifacts hold.

/** An integer as a number, where that is the same. */
const exact = (value) => (Number.isSafeInteger(Number(value)) ? Number(value) : value);

const READERS = {
  f8: (view, at, little) => view.getFloat64(at, little),
  f4: (view, at, little) => view.getFloat32(at, little),
  i8: (view, at, little) => exact(view.getBigInt64(at, little)),
  u8: (view, at, little) => exact(view.getBigUint64(at, little)),
  i4: (view, at, little) => view.getInt32(at, little),
  u4: (view, at, little) => view.getUint32(at, little),
  i2: (view, at, little) => view.getInt16(at, little),
  u2: (view, at, little) => view.getUint16(at, little),
  i1: (view, at) => view.getInt8(at),
  u1: (view, at) => view.getUint8(at),
};

/** Text of a fixed width in code points, which zeros fill up. */
function text(view, at, little, points) {
  const found = [];
  for (let point = 0; point < points; point += 1) found.push(view.getUint32(at + 4 * point, little));
  return String.fromCodePoint(...found).replace(/\0+$/, "");
}

/** Read a file of numbers or text into a plain array. Throws if it is something else. */
export function readNpy(buffer) {
  const view = new DataView(buffer);
  if (view.getUint32(0) !== 0x934e554d) throw new Error("This is not a numpy file.");
  const wide = view.getUint8(6) > 1;
  const begin = wide ? 12 : 10;
  const length = wide ? view.getUint32(8, true) : view.getUint16(8, true);
  const header = new TextDecoder("latin1").decode(new Uint8Array(buffer, begin, length));
  const [, order, letter, size] = /'descr':\s*'([<>|=])([a-zU])(\d+)'/.exec(header) ?? [];
  const read = letter === "U" ? (...where) => text(...where, Number(size)) : READERS[letter + size];
  if (!read) throw new Error(`The page cannot draw arrays of this type: ${header.slice(0, 60)}`);
  const width = letter === "U" ? 4 * size : Number(size);
  const first = begin + length;
  const values = new Array(Math.floor((buffer.byteLength - first) / width));
  for (let index = 0; index < values.length; index += 1) {
    values[index] = read(view, first + index * width, order !== ">");
  }
  return values;
}
