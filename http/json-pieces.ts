// An object as JSON, a piece at a time: a page of a thousand long items takes a tenth of a second to write, in which nobody else
// would be answered, and more memory than a page may hold.
import { breather } from '../intake/event-loop.ts';

/** With no longer list it is written in a few milliseconds. */
const SHORT_LIST = 100;
const PIECE_CHARS = 64 * 1024;

export const isStreamed = (value: unknown): value is AsyncIterable<unknown> =>
  typeof value === 'object' && value !== null && Symbol.asyncIterator in value;

export const hasLongList = (body: object): boolean =>
  Object.values(body).some((value) => isStreamed(value) || (Array.isArray(value) && value.length > SHORT_LIST));

/**
 * What `JSON.stringify` gives, in UTF-8. `body` is an object; of its values lists are written item by item, and so are async
 * iterables, as lists. A value is asked for when those before it are written.
 */
export async function* jsonPieces(body: object): AsyncGenerator<Buffer> {
  const breathe = breather();
  let text = '{';
  let separator = '';
  for (const name of Object.keys(body)) {
    const value = (body as Record<string, unknown>)[name];
    const is_list = Array.isArray(value) || isStreamed(value);
    const whole = is_list ? '[' : JSON.stringify(value);
    // Such as undefined: it is left out.
    if (whole === undefined) continue;
    text += `${separator}${JSON.stringify(name)}:${whole}`;
    separator = ',';
    if (!is_list) continue;
    let between = '';
    for await (const item of value) {
      text += `${between}${JSON.stringify(item) ?? 'null'}`;
      between = ',';
      if (text.length < PIECE_CHARS) continue;
      yield Buffer.from(text);
      text = '';
      await breathe();
    }
    text += ']';
  }
  yield Buffer.from(`${text}}`);
}
