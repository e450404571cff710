// Where a URL ends, by the syntax that is written around it.
import test from 'ava';
import { urlsInCell } from '../../intake/cell-urls.ts';

const A = 'https://a.example.org/1';
const B = 'https://b.example.org/2?x=1&y=2';

for (const [syntax, text, urls] of [
  ['a bracket with a word behind it', `(see ${A})and more`, [A]],
  ['attachments of Airtable', `spec.pdf (${A}),photo.png (${B})`, [A, B]],
  ['Org', `- [[${A}][Label]]\n- [[${B}]]`, [A, B]],
  ['BBCode', `[url=${A}]here[/url] and [url]${B}[/url][b]x[/b]`, [A, B]],
  ['LaTeX', `\\href{${A}}{text} and \\url{https://b.example.org/a\\_b\\%20c}`, [A, 'https://b.example.org/a_b%20c']],
  ['DokuWiki', `[[${A}|Label]] and [[${B}|x y]]`, [A, B]],
  ['reStructuredText, before a block', `${A}::`, [A]],
  ['AsciiDoc', `See ${A}[the label] and link:${B.slice(0, 23)}[other, window=_blank].`, [A, B.slice(0, 23)]],
  ['Slack', `<${A}|label> and <${B}>`, [A, B]],
  ['wikitext', `[${A} label] {{cite web|url=${B}|title=T}}`, [A, B]],
  ['wikitext, a table', `| ${A}||${B}|| x`, [A, B]],
  ['reStructuredText', `\`Label <${A}>\`_ and .. _b: ${B}`, [A, B]],
  ['Markdown, a definition without a space', `[Open data]:${A}`, [A]],
  ['Markdown, escapes', 'see https://a.example.org/a\\_b', ['https://a.example.org/a_b']],
  ['HTML in a text', `<a href=${A}>x</a><img src='${A}'><a href="https://b.example.org/2?x=1&amp;y=2">`, [A, A, B]],
  ['escaped HTML', `&lt;a href=&quot;${A}&quot;&gt;x&lt;/a&gt;`, [A]],
  ['HTML with numbers for quotes', `&#60;a href=&#34;${A}&#34;&#62;`, [A]],
  ['quotes escaped by backslashes', `<a href=\\"${A}\\">x</a>`, [A]],
  [
    'JSON in a cell',
    '{"url":"https:\\/\\/a.example.org\\/1","u":"https:\\/\\/b.example.org\\/2?x=1\\u0026y=2"}',
    [A, B],
  ],
  ['line breaks as JSON writes them', `${A}\\n${B}\\nNext`, [A, B]],
  ['labels', `Twitter:${A}\nSource：${B}`, [A, B]],
  ['a label in a sentence', `See Source:${A} or home=${B}`, [A, B]],
  ['full-width brackets', `详见（${A}）了解更多，见「${B}」【x】`, [A, B]],
  ['full-width punctuation', `请看 ${A}，谢谢。${B}。下一句`, [A, B]],
  ['full-width punctuation at the end of a line', `${A}。`, [A]],
  ['no spaces', `访问${A}查看，或${B}`, [A, B]],
  ['arrows', `${A}→${B}`, [A, B]],
  ['arrows and emoji', `👉${A}👈 ${B}✅`, [A, B]],
  ['quotes of several languages', `„${A}“ «${B}»`, [A, B]],
  ['an apostrophe', `'${A}', and it's`, [A]],
  ['a dash before', `-${A} –${B}`, [A, B]],
  ['an exclamation', `Hello!${A}`, [A]],
  ['a path of letters', 'https://zh.wikipedia.org/wiki/北京_(消歧义)', ['https://zh.wikipedia.org/wiki/北京_(消歧义)']],
  [
    'a title that ends in a full stop',
    'https://ja.wikipedia.org/wiki/モーニング娘。',
    ['https://ja.wikipedia.org/wiki/モーニング娘。'],
  ],
  [
    'brackets of its own',
    'https://a.example.org/?a[]=1&b[c]=2 and (https://a.example.org/x_(y))',
    ['https://a.example.org/?a[]=1&b[c]=2', 'https://a.example.org/x_(y)'],
  ],
  ['an IPv6 address', 'see http://[2001:db8::1]/x.', ['http://[2001:db8::1]/x']],
  [
    'a URL in a URL without a scheme',
    'a.example.org/?next=https://b.example.org/',
    ['a.example.org/?next=https://b.example.org/'],
  ],
  ['a placeholder', 'https://a.example.org/{{ page.url }} is one', ['https://a.example.org/{{ page.url }}']],
] as const) {
  test(`a URL ends where it ends in ${syntax}`, (t) => {
    t.deepEqual(urlsInCell(text).texts, urls);
  });
}
