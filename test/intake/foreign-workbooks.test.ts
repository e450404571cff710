// Workbooks of an enemy: changed bytes, truncated archives, false sizes, one name for two parts. Each is opened soon, or
// refused with a code. FUZZ_RUNS sets the number of runs.
import { buffer } from 'node:stream/consumers';
import { crc32, deflateRawSync } from 'node:zlib';
import test from 'ava';
import fc from 'fast-check';
import { fromBufferPromise } from 'yauzl';
import { hostileText } from '../support/hostile-text.ts';
import { outcomeOf } from './outcomes.ts';
import { workbook } from './uploads.ts';

const RUNS = { numRuns: Number(process.env.FUZZ_RUNS ?? 100), endOnFailure: true };
const XML = [
  ...['<si>', '</si>', '<t>', '</t>', '<row r="', '<c r="', 't="s"', '<v>', '</v>', '<f>', '</f>', '</c>', '</row>'],
  ...[
    '<!--',
    '-->',
    '<![CDATA[',
    ']]>',
    '<!DOCTYPE a [',
    '<!ENTITY a "',
    '&a;',
    '&#0;',
    '&#x110000;',
    '&lt;',
    '<?',
    '?>',
  ],
  ...['_xD800_', '_x0000_', '"', '>', '/>', 'xmlns:a="', 'A1', 'XFD1048576', '-1', '1e308', '99999999999999999999'],
  ...['HYPERLINK("', '""', 'https://a.example/', '<rPh>', '<is>', '__proto__="1"', 'constructor="1"', '<sheet name="'],
];

/** The text parts of a workbook with their content. */
const SHARED = 'xl/sharedStrings.xml';
const SHEET = 'xl/worksheets/sheet1.xml';
const PARTS = [
  ...['xl/workbook.xml', '_rels/.rels', 'xl/_rels/workbook.xml.rels', SHARED, SHEET],
  'xl/worksheets/_rels/sheet1.xml.rels',
];
const PLAIN = {
  sheets: [
    '<row r="1"><c r="A1" t="s"><v>0</v></c><c r="B1" t="inlineStr"><is><t>name</t></is></c></row>' +
      '<row r="2"><c r="A2" t="s"><v>1</v></c><c r="B2"><f>HYPERLINK("https://c.example/")</f><v>c</v></c></row>',
  ],
  shared_strings: ['<t>url</t>', '<r><t>https://a.example/</t></r><rPh><t>x</t></rPh>'],
  links: { B1: 'https://b.example/' },
};

/** Writes an archive with any names, repeated or not, and any sizes beside the true ones. */
interface Part {
  name: string;
  content: Buffer;
  stated_size?: number;
  stated_crc?: number;
  stored?: boolean;
  zip64?: boolean;
}
function archive(parts: readonly Part[]): Buffer {
  const [bodies, entries]: [Buffer[], Buffer[]] = [[], []];
  let offset = 0;
  for (const { name, content, stated_size, stated_crc, stored = false, zip64 = false } of parts) {
    const data = stored ? content : deflateRawSync(content);
    const extra = zip64 ? Buffer.alloc(20) : Buffer.alloc(0);
    if (zip64) {
      extra.writeUInt16LE(1);
      extra.writeUInt16LE(16, 2);
      extra.writeBigUInt64LE(BigInt(stated_size ?? content.length), 4);
      extra.writeBigUInt64LE(BigInt(data.length), 12);
    }
    const common = Buffer.alloc(26);
    common.writeUInt16LE(45, 0);
    common.writeUInt16LE(stored ? 0 : 8, 4);
    common.writeUInt32LE(stated_crc ?? crc32(content), 10);
    common.writeUInt32LE(zip64 ? 0xffffffff : data.length, 14);
    common.writeUInt32LE(zip64 ? 0xffffffff : (stated_size ?? content.length) >>> 0, 18);
    common.writeUInt16LE(Buffer.byteLength(name), 22);
    common.writeUInt16LE(extra.length, 24);
    const body = Buffer.concat([Buffer.from('PK\x03\x04'), common, Buffer.from(name), extra, data]);
    const rest = Buffer.alloc(14);
    rest.writeUInt32LE(offset, 10);
    entries.push(Buffer.concat([Buffer.from('PK\x01\x02\x2d\0'), common, rest, Buffer.from(name), extra]));
    bodies.push(body);
    offset += body.length;
  }
  const directory = Buffer.concat(entries);
  const end = Buffer.alloc(18);
  end.writeUInt16LE(parts.length, 4);
  end.writeUInt16LE(parts.length, 6);
  end.writeUInt32LE(directory.length, 8);
  end.writeUInt32LE(offset, 12);
  return Buffer.concat([...bodies, directory, Buffer.from('PK\x05\x06'), end]);
}

const WHOLE = await partsOf(await workbook(PLAIN));

async function partsOf(content: Buffer): Promise<Part[]> {
  const parts: Part[] = [];
  const zip = await fromBufferPromise(content);
  for await (const entry of zip.eachEntry()) {
    parts.push({ name: entry.fileName, content: await buffer(await zip.openReadStreamPromise(entry)) });
  }
  return parts;
}

const indexOf = (name: string) => WHOLE.findIndex((part) => part.name === name);
const anyPart = fc.constantFrom(...PARTS).map(indexOf);
const anyBytes = fc.array(fc.tuple(fc.nat(), fc.nat(255)), { minLength: 1, maxLength: 8 });

function withBytes(content: Buffer, changes: readonly (readonly [at: number, byte: number])[]): Buffer {
  const copy = Buffer.from(content);
  for (const [at, byte] of changes) copy[at % copy.length] = byte;
  return copy;
}
const withPart = (index: number, change: (part: Part) => Partial<Part>) =>
  WHOLE.map((part, i) => (i === index ? { ...part, ...change(part) } : part));

test('the unchanged workbook opens, and its URLs are read', async (t) => {
  // The column with the header `url`, although the other one has more URLs.
  t.is(await outcomeOf(archive(WHOLE), 'x.xlsx'), 1);
  const zip64 = WHOLE.map((part) => ({ ...part, zip64: true }));
  t.is(await outcomeOf(archive(zip64), 'x.xlsx'), 1);
});

test('any bytes in any part of a workbook give URLs or a refusal with a code', async (t) => {
  await fc.assert(
    fc.asyncProperty(anyPart, anyBytes, async (index, changes) => {
      await outcomeOf(archive(withPart(index, ({ content }) => ({ content: withBytes(content, changes) }))));
    }),
    RUNS,
  );
  t.pass();
});

test('any XML in any part of a workbook gives URLs or a refusal with a code', async (t) => {
  await fc.assert(
    fc.asyncProperty(anyPart, hostileText(XML), fc.double({ min: 0, max: 1, noNaN: true }), async (index, xml, at) => {
      const spliced = ({ content }: Part) => {
        const middle = Math.floor(at * content.length);
        return { content: Buffer.concat([content.subarray(0, middle), Buffer.from(xml), content.subarray(middle)]) };
      };
      await outcomeOf(archive(withPart(index, spliced)));
    }),
    RUNS,
  );
  t.pass();
});

test('any values in the cells of a workbook give URLs or a refusal with a code', async (t) => {
  const values = ['0', '1', '-1', '1e9', '1.5', 'NaN', 'Infinity', '__proto__', '9007199254740993', '0x1', ' 1 ', ''];
  const value = fc.oneof(fc.constantFrom(...values), hostileText(values).map(escaped));
  await fc.assert(
    fc.asyncProperty(value, value, value, value, async (row, cell, type, shown) => {
      const rows = `<row r="${row}"><c r="${cell}" t="s"><v>${shown}</v></c><c t="${type}"><v>a.example</v></c></row>`;
      await outcomeOf(await workbook({ ...PLAIN, sheets: [PLAIN.sheets[0] + rows] }));
    }),
    RUNS,
  );
  t.pass();
});

test('changed or truncated bytes of the archive give URLs or a refusal with a code', async (t) => {
  const whole = archive(WHOLE);
  await fc.assert(
    fc.asyncProperty(anyBytes, fc.boolean(), fc.nat(whole.length), async (changes, is_cut, length) => {
      // The directory at the end names the place of every part.
      const near_end = changes.map(([at, byte]) => [whole.length - 1 - (at % (whole.length / 2)), byte] as const);
      await outcomeOf(withBytes(is_cut ? whole : whole.subarray(0, length + 1), is_cut ? near_end : changes));
    }),
    RUNS,
  );
  t.pass();
});

test('false sizes, checksums and names of parts give URLs or a refusal with a code', async (t) => {
  const size = fc.constantFrom(0, 1, 100, 0x7fffffff, 0xfffffffe, 0xffffffff, 2 ** 40, 2 ** 53 - 1);
  const odd = fc.record(
    {
      name: fc.oneof(fc.constantFrom('', '/', '../x', 'a\\b', 'XL/WORKBOOK.XML', ...PARTS), hostileText(PARTS)),
      stated_size: size,
      stated_crc: fc.nat(),
      stored: fc.boolean(),
      zip64: fc.boolean(),
    },
    { requiredKeys: [] },
  );
  await fc.assert(
    fc.asyncProperty(anyPart, odd, fc.boolean(), async (index, change, is_added) => {
      const changed = withPart(index, () => ({
        ...change,
        name: (change.name ?? WHOLE[index]!.name).slice(0, 20_000),
      }));
      await outcomeOf(archive(is_added ? [...WHOLE, changed[index]!] : changed));
    }),
    RUNS,
  );
  t.pass();
});

function escaped(text: string): string {
  return text.replace(/[&<"]/g, (character) => `&#${character.charCodeAt(0)};`);
}
