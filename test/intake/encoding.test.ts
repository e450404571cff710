// The encoding of a list is told by its letters, and the sheet keeps them.
import test from 'ava';
import { encodingOf } from '../../intake/encoding.ts';
import { open } from './uploads.ts';

/** Words of each language, in bytes that an encoder of its own wrote: TextDecoder only reads. */
const SAMPLES: readonly (readonly [encoding: string, text: string, hex: string])[] = [
  [
    'windows-1250',
    'Příliš žluťoučký kůň úpěl ďábelské ódy',
    '50f8ed6c699a209e6c759d6f75e86bfd206bf9f220fa70ec6c20efe162656c736be920f36479',
  ],
  ['iso8859-2', 'Zażółć gęślą jaźń', '5a61bff3b3e62067eab66cb1206a61bcf1'],
  ['windows-1251', 'Страница про котов', 'd1f2f0e0ede8f6e020eff0ee20eaeef2eee2'],
  ['koi8-r', 'Страница про котов', 'f3d4d2c1cec9c3c120d0d2cf20cbcfd4cfd7'],
  ['iso8859-5', 'Страница про котов', 'c1e2e0d0ddd8e6d020dfe0de20dadee2ded2'],
  ['windows-1253', 'Ξεσκεπάζω την ψυχοφθόρα', 'cee5f3eae5f0dce6f920f4e7ed20f8f5f7eff6e8fcf1e1'],
  ['iso8859-7', 'Ξεσκεπάζω την ψυχοφθόρα', 'cee5f3eae5f0dce6f920f4e7ed20f8f5f7eff6e8fcf1e1'],
  ['windows-1254', 'Şehir,İstanbul\nIğdır ve Muğla', 'de656869722cdd7374616e62756c0a49f064fd72207665204d75f06c61'],
  [
    'windows-1254',
    'Pijamalı hasta yağız şoföre çabucak güvendi',
    '50696a616d616cfd206861737461207961f0fd7a20fe6f66f6726520e761627563616b2067fc76656e6469',
  ],
  ['iso8859-9', 'Pijamalı hasta yağız şoföre', '50696a616d616cfd206861737461207961f0fd7a20fe6f66f67265'],
  ['windows-1255', 'דף הבית של האתר', 'e3f320e4e1e9fa20f9ec20e4e0faf8'],
  ['windows-1256', 'صفحة البداية', 'd5ddcdc920c7e1c8cfc7edc9'],
  ['windows-1257', 'Ąžuolas ėjo į žygį', 'c0fe756f6c617320eb6a6f20e120fe7967e1'],
  ['iso8859-15', 'Größe und Maße 5 €', '4772f6df6520756e64204d61df65203520a4'],
  ['shift_jis', '日本語のページ', '93fa967b8cea82cc8379815b8357'],
  ['euc_kr', '한국어 페이지', 'c7d1b1b9beee20c6e4c0ccc1f6'],
  ['gbk', '中文页面测试', 'd6d0cec4d2b3c3e6b2e2cad4'],
  ['big5', '中文頁面測試', 'a4a4a4e5adb6adb1b4fab8d5'],
  ['mac_roman', 'Größe café naïve', '47729aa765206361668e206e61957665'],
  ['windows-1252', 'Größe café naïve – “quoted”', '4772f6df6520636166e9206e61ef76652096209371756f74656494'],
  ['windows-1250', 'Anunţuri şi informaţii', '416e756efe75726920ba6920696e666f726d61fe6969'],
  ['windows-1250', 'Időjárás Győr', '4964f56ae172e173204779f572'],
  ['iso8859-2', 'Árvíztűrő tükörfúrógép', 'c17276ed7a74fb72f52074fc6bf67266fa72f367e970'],
  ['windows-1257', 'Rīga, Latviešu valoda', '52ee67612c204c6174766965f0752076616c6f6461'],
  ['windows-1257', 'Õunapuu, jäääär', 'd5756e617075752c206ae4e4e4e472'],
  ['windows-1251', 'Новини, Україна', 'cdeee2e8ede82c20d3eaf0e0bfede0'],
  ['koi8-r', 'Новости', 'eecfd7cfd3d4c9'],
  ['iso8859-5', 'Новости, Москва', 'bdded2dee1e2d82c20bcdee1dad2d0'],
  ['windows-1253', 'Αθήνα', 'c1e8deede1'],
  ['windows-1255', 'ירושלים', 'e9f8e5f9ece9ed'],
  ['windows-1256', 'الأخبار', 'c7e1c3cec8c7d1'],
  ['windows-874', 'กรุงเทพ', 'a1c3d8a7e0b7be'],
  ['shift_jis', 'ニュース', '836a8385815b8358'],
  ['euc_jp', '会社案内', 'b2f1bcd2b0c6c6e2'],
  ['euc_kr', '뉴스', 'b4babdba'],
  ['gbk', '新闻', 'd0c2cec5'],
  ['big5', '新聞', 'b773bb44'],
  ['mac_roman', 'España, Información', '4573706196612c20496e666f726d616369976e'],
  ['windows-1252', '¿Qué es? España', 'bf5175e92065733f2045737061f161'],
  ['euc_jp', '日本語のページ', 'c6fccbdcb8eca4cea5daa1bca5b8'],
];

for (const [encoding, text, hex] of SAMPLES) {
  const words = Buffer.from(hex, 'hex');
  const rows = [1, 2, 3].map((n) => Buffer.concat([words, Buffer.from(` ${n},https://a.example.org/${n}\r\n`)]));
  const content = Buffer.concat([Buffer.from('title,url\r\n'), ...rows]);
  test(`${encoding} is recognised by its letters: ${text}`, async (t) => {
    const sheet = await open(t, 'x.csv', content);
    t.is(new TextDecoder(sheet.encoding).decode(words), text);
  });
}

test('a damaged character leaves a small file UTF-8', async (t) => {
  const damaged = Buffer.concat([Buffer.from('ä;url\n'), Buffer.from([0xe4]), Buffer.from(';x\nö;y\n')]);
  t.is(await encodingOf(damaged), 'utf-8');
});

test('a damaged character leaves a file UTF-8', async (t) => {
  const damaged = Buffer.concat([Buffer.from('größe;maße;weiß;url\n'), Buffer.from([0xe4]), Buffer.from(';größe\n')]);
  t.is(await encodingOf(damaged), 'utf-8');
});

test('HTML and XML say their own encoding, unless they are UTF-8', async (t) => {
  const page = (charset: string, letter: Buffer) =>
    Buffer.concat([Buffer.from(`<meta charset="${charset}"><p>`), letter]);
  t.is(await encodingOf(page('windows-1251', Buffer.from([0xe0]))), 'windows-1251');
  t.is(await encodingOf(page('windows-1251', Buffer.from('ä'))), 'utf-8');
  t.is(await encodingOf(page('nonsense', Buffer.from([0xe4]))), 'windows-1252');
});

test('a file that begins in ASCII is recognised by what comes later', async (t) => {
  const ascii = 'title,url\n'.padEnd(200_000, 'x,https://a.example.org/1\n');
  const sheet = await open(
    t,
    'x.csv',
    Buffer.concat([Buffer.from(ascii), Buffer.from('\n'), Buffer.from('d1f2f0e0ede8f6e020eff0ee20eaeef2eee2', 'hex')]),
  );
  t.is(sheet.encoding, 'windows-1251');
});

test('UTF-16 without a mark is told, also where most letters are no ASCII', async (t) => {
  const text = '题目与说明文字很长很长很长很长很长很长很长很长很长很长很长很长很长很长,https://a.example.org/1\r\n';
  const bytes = Buffer.from(text, 'utf16le');
  t.is(await encodingOf(bytes), 'utf-16le');
  t.is(await encodingOf(Buffer.from(bytes).swap16()), 'utf-16be');
});

test('the encoding that a client names is taken, and one that does not exist is refused', async (t) => {
  const content = Buffer.concat([
    Buffer.from('title,url\n'),
    Buffer.from([0xe0]),
    Buffer.from(',https://a.example.org/1\n'),
  ]);
  t.is((await open(t, 'x.csv', content, {}, { encoding: 'KOI8-R' })).encoding, 'koi8-r');
  await t.throwsAsync(() => open(t, 'x.csv', content, {}, { encoding: 'nonsense' }), { code: 'encoding_not_known' });
});
