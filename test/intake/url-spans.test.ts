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
  ['underscores for stress', `__${A}__, _${A}_ and _see ${B}_`, [A, A, B]],
  ['signs before it in its word', `+${A} //${B} @${A}`, [A, B, A]],
  ['carets', `1^${A}`, [A]],
  ['single quotes of German and Swiss', `‚${A}‘ ‹${B}›`, [A, B]],
  ['Arabic punctuation', `${A}، ${B}؛ ${A}؟`, [A, B, A]],
  ['a danda', `${A}। ${B}।`, [A, B]],
  ['particles of Korean', `${A}에서 확인, ${B}를 보세요`, [A, B]],
  ['particles of Japanese', `詳細は ${A}を参照、 ${B}です`, [A, B]],
  ['Thai behind a space', `ดู ${A}ครับ`, [A]],
  ['a dash of English', `see ${A}—and so on`, [A]],
  ['middle dots', `${A}・${B}·${A}`, [A, B, A]],
  [
    'a middle dot of its own',
    'ja https://ja.wikipedia.org/wiki/ジョン・レノン',
    ['https://ja.wikipedia.org/wiki/ジョン・レノン'],
  ],
  ['a line end of mainframes', `${A}${B}`, [A, B]],
  ['colours of a terminal', `[32m${A}[0m - [1;31m${B}[0m`, [A, B]],
  ['a file of properties', 'a.url=https\\://b.example.org/2?x\\=1&y\\=2', [B]],
  ['AsciiDoc, a query', `link:${B}[label] and`, [B]],
  ['an escaped ampersand', 'https://b.example.org/2?x=1&amp;y=2', [B]],
  ['escaped slashes', 'https:&#x2F;&#x2F;a.example.org&#47;1', [A]],
  ['HTML escaped twice', '&amp;lt;a href=&amp;quot;https://b.example.org/2?x=1&amp;amp;y=2&amp;quot;&amp;gt;', [B]],
  [
    'parameters with names of entities',
    '<a href="https://b.example.org/2?x=1&copy=2&region=3">x</a>',
    ['https://b.example.org/2?x=1&copy=2&region=3'],
  ],
  ['a placeholder', 'https://a.example.org/{{ page.url }} is one', ['https://a.example.org/{{ page.url }}']],
] as const) {
  test(`a URL ends where it ends in ${syntax}`, (t) => {
    t.deepEqual(urlsInCell(text).texts, urls);
  });
}
