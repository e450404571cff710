// Writes an object as JSON in pieces. A page of a thousand long items takes 0.1 s to serialise, which would block the event loop,
// and more memory than a page may take.
import { breather } from '../../../time/event-loop.ts';

/** JSON with shorter lists takes a few milliseconds. */
const SHORT_LIST = 100;
const PIECE_CHARS = 64 * 1024;

export const isStreamed = (value: unknown): value is AsyncIterable<unknown> =>
  typeof value === 'object' && value !== null && Symbol.asyncIterator in value;

export const hasLongList = (body: object): boolean =>
  Object.values(body).some((value) => isStreamed(value) || (Array.isArray(value) && value.length > SHORT_LIST));

/**
 * Yields the text of `JSON.stringify(body)` in UTF-8. It serialises lists item by item, and async iterables as lists. It reads each
 * property after it has yielded the properties before it, so that a getter may depend on them.
 * @example for await (const piece of jsonPieces({ items, total })) response.write(piece);
 */
export async function* jsonPieces(body: object): AsyncGenerator<Buffer> {
  const breathe = breather();
  let text = '{';
  let separator = '';
  for (const name of Object.keys(body)) {
    const value = (body as Record<string, unknown>)[name];
    const is_list = Array.isArray(value) || isStreamed(value);
    const whole = is_list ? '[' : JSON.stringify(value);
    // JSON omits undefined values.
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
