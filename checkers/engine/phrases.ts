// Reads whether a short text says that something is not there: a thing ("page", "product") and its absence ("not found", "no
// longer available") in one statement. It is for titles, headings and the first sentences of a page: in running text the same
// words may describe other things.
import { ASIAN } from './not-found/asian.ts';
import { EUROPEAN } from './not-found/european.ts';
import { foldLetters, foldText, NOT_ASCII } from './not-found/fold.ts';
import { GERMANIC } from './not-found/germanic.ts';
import type { Language } from './not-found/language.ts';
import { ROMANCE } from './not-found/romance.ts';
import { SLAVIC } from './not-found/slavic.ts';

const LANGUAGES = { ...GERMANIC, ...ROMANCE, ...SLAVIC, ...EUROPEAN, ...ASIAN };
/**
 * `gone`: a segment of the text states that a thing does not exist. `bare`: a segment is little more than "Not found" or
 * "404". `mentions`: the text has the words, but they may be the subject of an article or a name.
 */
export type Saying = 'gone' | 'bare' | 'mentions' | null;

interface Matcher {
  things: RegExp;
  gone: RegExp;
  after: RegExp | null;
  bare: RegExp | null;
}

/**
 * The languages of one script. Its expressions are made when a text first needs them: most threads meet few scripts, and to
 * make all expressions takes 0.1 s.
 */
interface Script {
  letters: RegExp;
  languages: readonly Language[];
  any: RegExp | null;
  matchers: readonly Matcher[] | null;
}

/** Nothing follows but punctuation, or another clause. */
const END_OF_CLAUSE = '(?=[\\s\\p{P}]*$|\\s*[,，、;；])';

const SCRIPTS: readonly Script[] = [
  /\p{sc=Latin}/u,
  /\p{sc=Cyrillic}/u,
  /[\p{sc=Han}\p{sc=Hiragana}\p{sc=Katakana}]/u,
  /\p{sc=Hangul}/u,
  /\p{sc=Arabic}/u,
  /[\p{sc=Greek}\p{sc=Hebrew}\p{sc=Georgian}\p{sc=Armenian}\p{sc=Ethiopic}]/u,
  /[\p{sc=Devanagari}\p{sc=Bengali}\p{sc=Gujarati}\p{sc=Gurmukhi}\p{sc=Oriya}\p{sc=Sinhala}\p{sc=Tamil}\p{sc=Telugu}\p{sc=Kannada}\p{sc=Malayalam}]/u,
  /[\p{sc=Thai}\p{sc=Lao}\p{sc=Khmer}\p{sc=Myanmar}\p{sc=Tibetan}]/u,
].map((letters) => {
  const languages = Object.values(LANGUAGES).filter((language) => isWritten(language, letters));
  return { letters, languages, any: null, matchers: null };
});

const LATIN_ALONE = SCRIPTS.slice(0, 1);

/** Makes the expressions of every script, for a check that must see them all. */
export function makeExpressions(): void {
  for (const script of SCRIPTS) {
    anyOf(script);
    matchersOf(script);
  }
}

/** A prefilter for all languages of a script, which nearly every title fails. */
const anyOf = (script: Script): RegExp => (script.any ??= anyAbsence(script.languages));
const matchersOf = (script: Script): readonly Matcher[] => (script.matchers ??= script.languages.map(matcherOf));

/** Whether the first letter of the language's things belongs to a script. */
function isWritten({ things }: Language, letters: RegExp): boolean {
  return letters.test(/\p{L}/u.exec(things.replace(/\(\?<?[!=:][^)]*?\)/, ''))![0]);
}

/** One expression for the absences of all the languages. Its class of letters is small, since it runs on nearly every title. */
function anyAbsence(languages: readonly Language[]): RegExp {
  const [joined, spaced] = [true, false].map((is_joined) =>
    languages
      .filter((language) => (language.joined === true) === is_joined)
      .map((language) => folded(absences(language))),
  );
  const alternatives = [...joined!];
  if (spaced!.length > 0) alternatives.push(`(?<![a-zа-я])(?:${spaced!.join('|')})(?![a-zа-я])`);
  return new RegExp(alternatives.join('|'), 'u');
}

function absences({ gone, after, bare }: Language): string {
  return [gone, after, bare].filter((phrases) => phrases !== undefined).join('|');
}

/** Folds the alternatives, and anchors them at whole words. */
function whole(alternatives: string, { joined }: Language): string {
  const phrases = folded(alternatives);
  return joined ? `(?:${phrases})` : `(?<![\\p{L}\\p{M}])(?:${phrases})(?![\\p{L}\\p{M}])`;
}

function folded(alternatives: string): string {
  return foldLetters(alternatives).replaceAll('~', '\\p{L}*');
}

function matcherOf(language: Language): Matcher {
  const { things, gone, after, bare } = language;
  const expression = (phrases: string, end = '') => new RegExp(whole(phrases, language) + end, 'u');
  return {
    things: expression(things),
    gone: expression(gone),
    after: after === undefined ? null : expression(after, END_OF_CLAUSE),
    bare: bare === undefined ? null : expression(bare),
  };
}

/** "Error", "status" and the like, which stand before or after the number. */
const ERROR_WORD = foldLetters(
  '(?:http|status|code|error|errors|erreur|fehler|errore|erro|oops|fout|foutmelding|fel|fejl|feil|villa|virhe|viga|chyba|błąd|hata|hatası|xəta|xato|hiba|eroare|greška|napaka|klaida|kļūda|errorea|gabim|galat|ralat|kesalahan|kosilla|fallo|lỗi|mali|hitilafu|earráid|gwall|fazi|erru|hē|σφάλμα|ошибка|помилка|памылка|грешка|грешка|қате|ката|алдаа|エラー|错误|錯誤|오류|에러|خطأ|خطا|خطای|ارور|שגיאה|त्रुटि|त्रुटी|ত্রুটি|பிழை|లోపం|ข้อผิดพลาด|ผิดพลาด|შეცდომა|սխալ|ስህተት)',
);
const BESIDE = `(?:${ERROR_WORD}[\\s#!.:()_-]*){0,2}`;
/** A segment that is the number, alone or with a word. */
const ONLY_404 = new RegExp(
  `^${BESIDE}(?:404|410)(?:-es|-feil)?[\\s!.:()_-]*${BESIDE}(?:page|not found|gone)?[\\s!.]*$`,
  'u',
);
const WITH_404 = new RegExp(
  `${ERROR_WORD}[\\s#:-]*(?:404|410)(?!\\d)|(?<!\\d)404[\\s-]*(?:error|page|fehler|not found)`,
  'u',
);

/** Separates a title's statement from its site's name and from other sentences. */
const SEPARATORS = /[\n|•·»«—–]|\s[-~/]\s|\.\.\.|…|(?<=[.!?])\s|(?<=[。！？।۔])/;
/** Separates a statement from its subject, as in "404 Not Found: /page". */
const COLON = /[:：]/;
/** Text in quotation marks, which describes something else. */
const QUOTED = /["“„«「『][^"“”»」』]{0,100}["“”»」』]/gu;
/** Marks of questions, advice and articles about such pages, and of pages away only for now or for this region. */
const ABOUT = new RegExp(
  foldLetters(
    [
      '[?？؟;](?=\\s*$)|[?？؟]',
      'temporar|currently|maintenance|at the moment|in your (?:country|region|area|location)|vorübergehend|derzeit|momentan|temporair|actuellement|temporal|momentáneamente|в данный момент|временно|в вашем регионе|тимчасово|一時的|お住まいの地域|暂时|所在地区|일시적',
      '\\((?!\\s*(?:(?:error|http|fehler|erreur)?\\s*4\\d\\d|yet|endnu|enn|ännu|ennå)\\b)',
      `(?<!\\p{L})(?:${[
        'how to|how do|how i|why|what (?:is|are|to|happens|does|it)|when (?:a|the|your)|fix(?:ing|es|ed)?|solved?|solving|resolve|troubleshoot\\p{L}*|handl(?:e|es|ing)|guide|tips|best|examples|meaning|explained|tutorial|history|says|after|since|study|custom|exception|pages about|errors? (?:in|on|with|when|while|for)|(?:found|404) pages|recover\\p{L}*|restor\\p{L}*|undelete\\p{L}*|(?:that|which) (?:are|is|were|was|have|has|no longer)|list of',
        'wie|was (?:ist|bedeutet|tun|sie)|warum|wenn|hilfe|beheben|lösung\\p{L}*|bedeutet|nach (?!der|dem|denen|was)|wiederherstell\\p{L}*|retten',
        'comment|que faire|pourquoi|résoudre|corriger|quand|récupér\\p{L}*|restaurer',
        'cómo|por qué|solucion\\p{L}*|significa\\p{L}*|recuper\\p{L}*|restaurar',
        'come|cosa|perché|risolvere|ripristin\\p{L}*|como|o que (?:é|fazer)|por que|resolver|corrigir',
        'jak|dlaczego|pomoc\\p{L}*|proszę|napraw\\p{L}*|odzysk\\p{L}*|przywr\\p{L}*|proč|obnov\\p{L}*|povrat\\p{L}* (?:dat|fajl)\\p{L}*',
        'hur|varför|återställ\\p{L}*|hvordan|hvorfor|gendan\\p{L}*|gjenopprett\\p{L}*|miten|miksi|palaut\\p{L}*',
        'nasıl|nedir|neden|çözüm\\p{L}*|kurtar\\p{L}*|geri (?:getir|yükle)\\p{L}*',
        'как|что (?:делать|такое|значит)|почему|исправить|восстан\\p{L}*|вернуть|як|чому|виправити|віднов\\p{L}*',
        'hoe|waarom|oplossen|herstel\\p{L}*|terughalen|hogyan|miért|visszaállít\\p{L}*|helyreállít\\p{L}*|cum|πώς|γιατί|ανάκτηση|επαναφορά',
        'cách|tại sao|khôi phục|cara|mengapa|mengatasi|mengembalikan|memulihkan|kembalikan|pulihkan',
        'कैसे|क्यों|पुनर्प्राप्त|איך|למה|שחזור|كيف|لماذا|استعادة|استرجاع|بازیابی|چگونه',
      ].join('|')})(?!\\p{L})`,
      '対処|方法|原因|とは|解決|復元|復旧|怎么|怎麼|如何|解决|解決|什么|什麼|恢复|恢復|还原|還原|해결|방법|원인|이유|복구|복원|กู้คืน|กู้ไฟล์|วิธี',
    ].join('|'),
  ),
  'u',
);
/** Characters of the longest statement. */
const MAX_STATEMENT = 90;
/** Characters that a bare segment may have besides the phrase, as in "Sorry, not found!". */
const SLACK = 14;

/** The strongest saying of a text, and how many statements of an absence it has. */
export interface Sayings {
  saying: Saying;
  statements: number;
}

/** Whether a title, a heading or a page's first sentences say that the page does not exist. */
export function notFoundSaying(text: string): Saying {
  return readSayings(text).saying;
}

export function readSayings(text: string): Sayings {
  const folded = foldText(text);
  const has_number = folded.includes('404') || folded.includes('410');
  const matchers = matchersFor(folded);
  const sayings: Sayings = { saying: null, statements: 0 };
  if (matchers.length === 0 && !has_number) return sayings;
  for (const segment of folded.replace(QUOTED, ' ').split(SEPARATORS)) {
    if (ABOUT.test(segment)) continue;
    for (const piece of segment.split(COLON)) {
      const saying = sayingOf(piece.trim(), matchers);
      if (saying === null) continue;
      sayings.statements++;
      if (sayings.saying !== 'gone') sayings.saying = saying;
    }
  }
  if (sayings.saying === null && (WITH_404.test(folded) || matchers.some((matcher) => hasWords(folded, matcher)))) {
    sayings.saying = 'mentions';
  }
  return sayings;
}

function sayingOf(statement: string, matchers: readonly Matcher[]): 'gone' | 'bare' | null {
  if (statement.length > MAX_STATEMENT) return null;
  if (matchers.some((matcher) => isGone(statement, matcher))) return 'gone';
  return ONLY_404.test(statement) || matchers.some((matcher) => isBare(statement, matcher)) ? 'bare' : null;
}

const NONE: readonly Matcher[] = [];

/** The languages of the text's scripts, where it has a phrase of one of them. */
function matchersFor(folded: string): readonly Matcher[] {
  let found = NONE;
  // Of all scripts Latin alone has letters of ASCII.
  for (const script of NOT_ASCII.test(folded) ? SCRIPTS : LATIN_ALONE) {
    if (!script.letters.test(folded) || !anyOf(script).test(folded)) continue;
    found = found === NONE ? matchersOf(script) : [...found, ...matchersOf(script)];
  }
  return found;
}

function isGone(statement: string, { things, gone, after }: Matcher): boolean {
  if (gone.test(statement) && things.test(statement)) return true;
  const participle = after?.exec(statement);
  return participle != null && things.test(statement.slice(0, participle.index));
}

function isBare(statement: string, { bare, gone }: Matcher): boolean {
  const found = bare?.exec(statement);
  if (found != null && statement.length <= found[0].length + SLACK) return true;
  const phrase = gone.exec(statement);
  return phrase !== null && statement.length <= phrase[0].length + 2;
}

function hasWords(folded: string, { things, gone, after, bare }: Matcher): boolean {
  return bare?.test(folded) === true || ((gone.test(folded) || after?.test(folded) === true) && things.test(folded));
}
