// Mails as programs write them: parts in parts, transfer encodings, and messages that no program writes.
import test from 'ava';
import { failureOf, valuesOf } from './uploads.ts';

const A = 'https://a.example.org/1';
const B = 'https://b.example.org/2?x=1&y=2';
const HEAD = 'From: a@example.org\r\nMIME-Version: 1.0\r\n';
const part = (type: string, ...lines: string[]) => ['--b', `Content-Type: ${type}`, ...lines].join('\r\n');
const mail = (...parts: string[]) =>
  [`${HEAD}Content-Type: multipart/mixed;\r\n boundary="b"`, '', 'x', ...parts, '--b--', ''].join('\r\n');

for (const [kind, content, found] of [
  [
    'quoted-printable, with a line break in a link',
    mail(
      part(
        'text/html',
        'Content-Transfer-Encoding: quoted-printable',
        '',
        `<a href=3D"${A.slice(0, 9)}=`,
        `${A.slice(9)}">=C3=A4</a>`,
      ),
    ),
    [A],
  ],
  [
    'base64 in two parts, each link once',
    mail(
      part(
        'text/plain; charset=utf-8',
        'Content-Transfer-Encoding: base64',
        '',
        Buffer.from(`x ${A}`).toString('base64'),
      ),
      part(
        'text/html',
        'Content-Transfer-Encoding: BASE64',
        '',
        Buffer.from(`<a href="${A}">x</a> ${B.replace('&', '&amp;')}`).toString('base64'),
      ),
    ),
    [A, B],
  ],
  [
    'nothing behind the end of its parts',
    `${mail(part('text/plain', '', A))}\r\n--b\r\nContent-Type: text/plain\r\n\r\n${B}\r\n`,
    [A],
  ],
  [
    'lines that go on in the next one (format=flowed; delsp=yes)',
    `${HEAD}Content-Type: text/plain; format=flowed; delsp=yes\r\n\r\n${A.slice(0, 20)} \r\n${A.slice(20)}\r\n`,
    [A],
  ],
  [
    'a calendar attached',
    mail(part('text/calendar', '', 'BEGIN:VCALENDAR', `URL:${A.slice(0, 15)}`, ` ${A.slice(15)}`, 'END:VCALENDAR')),
    [A],
  ],
  [
    'a style sheet of a saved page',
    mail(part('text/css', '', `x { background: url(${B}) }`), part('text/html', '', `<a href="${A}">a</a>`)),
    [A],
  ],
  ['a relative link', `${HEAD}Content-Type: text/html\r\n\r\n<a href="/x">x</a><a href="${A}">a</a>`, ['/x', A]],
] as const) {
  test(`the links of a mail with ${kind} are found`, async (t) => {
    t.deepEqual(await valuesOf(t, 'x.eml', content), [...found]);
  });
}

test('a mail of parts in parts without end, and one of parts without number, are refused', async (t) => {
  const deep = Array.from({ length: 50 }, (_, i) => `Content-Type: multipart/mixed; boundary=b${i}\r\n\r\n--b${i}\r\n`);
  t.is((await failureOf(t, 'x.eml', HEAD + deep.join(''))).code, 'broken_file');
  const wide = `${HEAD}Content-Type: multipart/mixed; boundary=b\r\n\r\n${'--b\r\n\r\nx\r\n'.repeat(10_001)}`;
  t.is((await failureOf(t, 'x.eml', wide)).code, 'broken_file');
});
