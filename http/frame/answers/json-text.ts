// JSON that was serialised before the request that it answers, with its entity tag.
import { hash } from 'node:crypto';

export class JsonText {
  readonly bytes: Buffer;
  /** Compares weakly (RFC 9110, 8.8.3.2), because the text may be sent compressed. */
  readonly tag: string;

  constructor(text: string) {
    this.bytes = Buffer.from(text);
    this.tag = tagOf(text);
  }

  toJSON(): unknown {
    return JSON.parse(this.bytes.toString());
  }
}

/** @example tagOf('{}') // '"vyGp6PvFo4RvsFtPoIWeCReyIC8"' */
export const tagOf = (text: string): string => `"${hash('sha1', text, 'base64url')}"`;
