// A statement as PDF, by the optional package @cantoo/pdf-lib.
import { writeFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { type Run, UsageError } from './command.ts';
import { MODE, partOf } from './output-file.ts';
import type { Page } from './statement-pages.ts';

/** The package is not installed. */
class NoPdf extends Error {
  readonly code = 'no_pdf';
}

type PdfLib = typeof import('@cantoo/pdf-lib');

async function loadPdfLib(): Promise<PdfLib> {
  try {
    return await import('@cantoo/pdf-lib');
  } catch (cause) {
    throw new NoPdf('this needs a package that is not installed: npm install @cantoo/pdf-lib', { cause });
  }
}

/** A4, in points. */
const [WIDTH, HEIGHT] = [595.28, 841.89];
const MARGIN = 48;
const LINE = 14;
const SIZE = 8.5;
/** The left edges of time, transaction and reference; the right edges of amount and balance. */
const [TIME, TRANSACTION, REFERENCE] = [MARGIN, 148, 228];
const [AMOUNT, BALANCE] = [480, WIDTH - MARGIN];

/** The fonts that every reader has know the characters of Western Europe; others are shown by their number. */
const known = (text: string) =>
  text.replace(/[^\x20-\x7e\xa0-\xff]/gu, (each) => `U+${each.codePointAt(0)!.toString(16).toUpperCase()}`);

export async function openPdf(run: Run, user_id: string): Promise<Page> {
  const { out } = run.values;
  if (typeof out !== 'string') throw new UsageError('--format pdf: it needs --out FILE');
  const { PDFDocument, StandardFonts } = await loadPdfLib();
  const target = await partOf(resolve(run.folder, out));
  const document = await PDFDocument.create();
  document.setTitle(`Statement of ${user_id}`);
  const regular = await document.embedFont(StandardFonts.Helvetica);
  const bold = await document.embedFont(StandardFonts.HelveticaBold);
  const sheets: ReturnType<typeof document.addPage>[] = [];
  let y = 0;

  function put(text: string, x: number, { is_bold = false, is_right = false, most = WIDTH } = {}): void {
    const font = is_bold ? bold : regular;
    let shown = known(text);
    while (shown.length > 1 && font.widthOfTextAtSize(shown, SIZE) > most) shown = `${shown.slice(0, -2)}…`;
    sheets.at(-1)!.drawText(shown, { x: is_right ? x - font.widthOfTextAtSize(shown, SIZE) : x, y, size: SIZE, font });
  }
  function row(cells: readonly [string, string, string, string, string], is_bold = false): void {
    if (y < MARGIN + 2 * LINE) addSheet();
    const [time, transaction, reference, amount, balance] = cells;
    put(time, TIME, { is_bold });
    put(transaction, TRANSACTION, { is_bold, most: REFERENCE - TRANSACTION - 4 });
    put(reference, REFERENCE, { is_bold, most: AMOUNT - REFERENCE - 70 });
    put(amount, AMOUNT, { is_bold, is_right: true });
    put(balance, BALANCE, { is_bold, is_right: true });
    y -= LINE;
  }
  function addSheet(): void {
    sheets.push(document.addPage([WIDTH, HEIGHT]));
    y = HEIGHT - MARGIN;
    put(`Statement of ${user_id}, in credits`, TIME, { is_bold: true });
    y -= 2 * LINE;
    row(['time (UTC)', 'transaction', 'reference', 'amount', 'balance'], true);
  }
  addSheet();
  return {
    open: (balance, month) => row([month ?? '', 'opening balance', '', '', balance.toLocaleString('en')], true),
    entry: ({ at, data: { transaction_type, reference_id, amount, balance_after } }) => {
      const time = at.slice(0, 'yyyy-mm-ddThh:mm:ss'.length).replace('T', ' ');
      row([time, transaction_type, reference_id, amount.toLocaleString('en'), balance_after.toLocaleString('en')]);
    },
    close(balance) {
      row(['', 'closing balance', '', '', balance.toLocaleString('en')], true);
      y -= LINE;
    },
    async end(wrong) {
      for (const each of wrong) row([`violation at ${each}`, '', '', '', ''], true);
      for (const [n, sheet] of sheets.entries())
        sheet.drawText(`${n + 1} of ${sheets.length}`, { x: MARGIN, y: MARGIN / 2, size: SIZE, font: regular });
      await writeFile(target.part, await document.save(), { mode: MODE });
      await target.finish();
    },
    [Symbol.asyncDispose]: async () => target[Symbol.dispose](),
  };
}
