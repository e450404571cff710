// The names of encodings.

/** A label of the Encoding Standard in its standard case; each is one that TextDecoder takes. */
export type TextEncoding = string;

/** The encoding's name as TextDecoder gives it back; null for a name that it does not take. */
export function knownEncoding(label: string): TextEncoding | null {
  try {
    return new TextDecoder(label.trim()).encoding;
  } catch {
    return null;
  }
}
