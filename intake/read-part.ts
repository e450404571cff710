// Reads an XML part of a workbook as events, a piece at a time.
import { parseXml, type XmlHandlers } from './xml.ts';
import { throwBroken, type ZipPackage } from './zip-package.ts';

/** Yields after each piece, so that the caller can pass on its results. Ending the iteration stops the reading. */
export async function* readPart(workbook: ZipPackage, part: string, handlers: XmlHandlers): AsyncGenerator<void> {
  yield* parseXml(textOf(workbook, part), handlers, (detail) => throwBroken(new Error(`${part}: ${detail}`)));
}

/** Reads a part to its end. */
export async function readPartWhole(workbook: ZipPackage, part: string, handlers: XmlHandlers): Promise<void> {
  for await (const _ of readPart(workbook, part, handlers));
}

async function* textOf(workbook: ZipPackage, part: string): AsyncGenerator<string> {
  const decoder = new TextDecoder();
  for await (const bytes of workbook.read(part)) yield decoder.decode(bytes, { stream: true });
}
