// Reads the links and the URLs of mails: one message, a mailbox of them (mbox), or a page that a browser saved as a message (MHTML).
import { breather } from '../time/event-loop.ts';
import { isAttempt } from './cell-urls.ts';
import { IntakeError } from './errors.ts';
import { linksOfHtml } from './html.ts';
import { textsOfMessage } from './mime.ts';
import { type Cell, listSheet, type OpenedText, type Sheet } from './sheet.ts';
import { pagesOfTexts } from './sliced-texts.ts';
import { wholeOf } from './text-source.ts';

/** A message is decoded in memory; attachments count. */
const MAX_MAIL_BYTES = 32 * 1024 * 1024;
const READING = { has_notes: true, takes_names: false };

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
    // A message has the same links as text and as HTML.
    const seen = new Set<string>();
    for await (const some of linksOfMessage(message, limits.max_url_chars)) {
      const page: Cell[] = [];
      for (const { value, refused } of some) {
        if (seen.has(value) || (refused === undefined && !isAttempt(value))) continue;
        seen.add(value);
        page.push(refused === undefined ? { row, value } : { row, value, refused });
      }
      yield page;
    }
    await breathe();
  }
}

/** The links of the pages in a message and the URLs in its texts, attached ones too; other attachments are files of their own. */
async function* linksOfMessage(message: Buffer, max_url_chars: number): AsyncGenerator<Cell[]> {
  for await (const { type, text } of textsOfMessage(message)) {
    if (type === 'text/html') yield* linksOfHtml([text], max_url_chars);
    else yield* pagesOfTexts([{ row: 0, value: text }], READING);
  }
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
