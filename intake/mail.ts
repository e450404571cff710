// Reads the links and the URLs of mails: one message, a mailbox of them (mbox), or a page that a browser saved as a message (MHTML).
import PostalMime, { type Attachment } from 'postal-mime';
import { breather } from '../time/event-loop.ts';
import { isAttempt, urlsInCell } from './cell-urls.ts';
import { encodingOf } from './encoding.ts';
import { IntakeError } from './errors.ts';
import { linksOfHtml } from './html.ts';
import { type Cell, listSheet, type OpenedText, type Sheet } from './sheet.ts';
import { wholeOf } from './text-source.ts';

/** A message is decoded in memory; attachments count. */
const MAX_MAIL_BYTES = 32 * 1024 * 1024;
const MAX_HEADER_BYTES = 1024 * 1024;
export function openMail(file: OpenedText): Sheet {
  return listSheet(file, { format: 'mail', warnings: [], cells: () => mailCells(file) });
}

async function* mailCells({ source, limits }: OpenedText): AsyncGenerator<Cell[]> {
  const bytes = await wholeOf(source, limits.max_file_bytes);
  let row = 0;
  const breathe = breather();
  for (const message of messagesOf(bytes)) {
    row++;
    if (message.length > MAX_MAIL_BYTES) {
      throw new IntakeError('file_too_large', `Message ${row} has more than ${MAX_MAIL_BYTES / 1024 / 1024} MiB.`);
    }
    const options = { maxHeadersSize: MAX_HEADER_BYTES, maxNestingDepth: 20 };
    const { text = '', html = '', attachments } = await new PostalMime(options).parse(message);
    const attached = await Promise.all(attachments.map((one) => urlsOfAttachment(one, limits.max_url_chars)));
    const values = [
      ...(html === '' ? [] : linksOfHtml(html, limits.max_url_chars)),
      ...urlsInCell(text).texts,
      ...attached.flat(),
    ].filter((value) => isAttempt(value));
    // A message has the same links as text and as HTML.
    yield [...new Set(values)].map((value) => ({ row, value }));
    await breathe();
  }
}

/** The links of an attached page, or the URLs of another text; other attachments are files of their own. */
async function urlsOfAttachment(attachment: Attachment, max_url_chars: number): Promise<readonly string[]> {
  const { mimeType, content } = attachment;
  if (!mimeType.startsWith('text/') || typeof content === 'string') return [];
  const bytes = Buffer.from(content as ArrayBuffer);
  const text = new TextDecoder(await encodingOf(bytes)).decode(bytes);
  return mimeType === 'text/html' ? linksOfHtml(text, max_url_chars) : urlsInCell(text).texts;
}

/** The messages of a mailbox, or the one message. */
function* messagesOf(bytes: Buffer): Generator<Buffer> {
  const first = bytes.toString('latin1', 0, 1024).split('\n', 1)[0]!;
  if (!first.startsWith('From ')) {
    yield bytes;
    return;
  }
  let from = 0;
  for (;;) {
    const line = bytes.indexOf('\n', from);
    const next = bytes.indexOf('\nFrom ', from);
    yield bytes.subarray(line + 1, next === -1 ? bytes.length : next + 1);
    if (next === -1) return;
    from = next + 1;
  }
}
