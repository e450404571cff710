// An object as JSON, a piece at a time: a page of a thousand long items takes a tenth of a second to write, in which nobody else
// would be answered.
import { breather } from '../intake/event-loop.ts';

/** With no longer list it is written in a few milliseconds. */
const SHORT_LIST = 100;
const PIECE_CHARS = 64 * 1024;

export const hasLongList = (body: object): boolean =>
  Object.values(body).some((value) => Array.isArray(value) && value.length > SHORT_LIST);

/** What `JSON.stringify` gives, in UTF-8. `body` is an object; of its values lists are written item by item. */
export async function jsonPieces(body: object): Promise<Buffer[]> {
  const pieces: Buffer[] = [];
  const breathe = breather();
  let text = '';
  async function add(more: string): Promise<void> {
    text += more;
    if (text.length < PIECE_CHARS) return;
    pieces.push(Buffer.from(text));
    text = '';
    await breathe();
  }
  let before = '{';
  for (const [name, value] of Object.entries(body)) {
    const whole = Array.isArray(value) ? null : JSON.stringify(value);
    // Such as undefined: it is left out.
    if (whole === undefined) continue;
    await add(`${before}${JSON.stringify(name)}:${whole ?? '['}`);
    before = ',';
    if (whole !== null) continue;
    for (const [n, item] of (value as unknown[]).entries()) {
      await add(`${n === 0 ? '' : ','}${JSON.stringify(item) ?? 'null'}`);
    }
    text += ']';
  }
  pieces.push(Buffer.from(`${text}${before === '{' ? '{' : ''}}`));
  return pieces;
}
