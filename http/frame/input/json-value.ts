// Gathers the tokens of one small JSON value from a stream of tokens.
import { TokenType } from '@streamparser/json';

const OPENS: readonly TokenType[] = [TokenType.LEFT_BRACE, TokenType.LEFT_BRACKET];
const CLOSES: readonly TokenType[] = [TokenType.RIGHT_BRACE, TokenType.RIGHT_BRACKET];
const PUNCTUATION: readonly TokenType[] = [...OPENS, ...CLOSES, TokenType.COLON, TokenType.COMMA];

export type JsonValueReader = ReturnType<typeof openJsonValueReader>;

export function openJsonValueReader(max_chars: number) {
  let text = '';
  let depth = 0;
  return {
    /** Returns whether the value ends with this token. Throws RangeError for a value longer than `max_chars`. */
    take(token: TokenType, value: unknown): boolean {
      text += PUNCTUATION.includes(token) ? String(value) : JSON.stringify(value);
      if (text.length > max_chars)
        throw new RangeError(`must have at most ${max_chars.toLocaleString('en')} characters of JSON`);
      if (OPENS.includes(token)) depth++;
      if (CLOSES.includes(token)) depth--;
      return depth <= 0;
    },
    /** Throws SyntaxError where the tokens are no JSON. */
    read: () => JSON.parse(text),
  };
}
