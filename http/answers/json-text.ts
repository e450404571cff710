// JSON that was serialised before the request that it answers, with its entity tag.
import { hash } from 'node:crypto';
import { gzipSync } from 'node:zlib';

export class JsonText {
  readonly bytes: Buffer;
  /** Null where it is sent as it is. */
  readonly gzipped: Buffer | null;
  /** Of both forms: it compares weakly (RFC 9110, 8.8.3.2). */
  readonly tag: string;

  constructor(text: string, gzipped: Buffer | null = null) {
    this.bytes = Buffer.from(text);
    this.gzipped = gzipped;
    this.tag = tagOf(text);
  }

  /** For a text that many clients fetch whole. */
  static compressed(body: object): JsonText {
    const text = JSON.stringify(body);
    return new JsonText(text, gzipSync(text));
  }

  toJSON(): unknown {
    return JSON.parse(this.bytes.toString());
  }
}

/** @example tagOf('{}') // '"vyGp6PvFo4RvsFtPoIWeCReyIC8"' */
export const tagOf = (text: string): string => `"${hash('sha1', text, 'base64url')}"`;
