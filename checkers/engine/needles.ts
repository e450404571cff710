// Tells a text in which none of many expressions can match, by one look at each of its characters. Nearly every text is such, and to
// search it for one expression after the other costs ten times as much. Decision 191 says why.
import assert from 'node:assert';

/** A needle: what stands in each text that an alternative of an expression matches, whatever the case of its letters. */
const NEEDLE_CHARS = 6;
/** A hash has the last six characters: what it had of an earlier one has left it. */
const SHIFT = 3;
const HASH_BITS = NEEDLE_CHARS * SHIFT;
const HASH_MASK = 2 ** HASH_BITS - 1;
/** Letters of both cases have the same hash. */
const LOWER_CASE = 0x20;

/** Returns a function that says whether one of the expressions may match a text. Each of their alternatives needs a needle. */
export function mayMatchAny(expressions: readonly RegExp[]): (text: string) => boolean {
  const needles = new Set(expressions.flatMap(needlesOf));
  const hashes = new Int32Array(2 ** HASH_BITS / 32);
  for (const needle of needles) {
    let hash = 0;
    for (let i = 0; i < NEEDLE_CHARS; i++) hash = withNext(hash, needle.charCodeAt(i));
    hashes[hash >>> 5]! |= 1 << hash;
  }
  return (text) => {
    let hash = 0;
    for (let i = 0; i < text.length; i++) {
      hash = withNext(hash, text.charCodeAt(i));
      if ((hashes[hash >>> 5]! & (1 << hash)) === 0) continue;
      if (needles.has(text.slice(Math.max(0, i + 1 - NEEDLE_CHARS), i + 1).toLowerCase())) return true;
    }
    return false;
  };
}

const withNext = (hash: number, char: number) => ((hash << SHIFT) ^ (char | LOWER_CASE)) & HASH_MASK;

/** The parts of an expression: an escape, a class, the start or end of a group, or another character; and how often it stands there. */
const PARTS =
  /(?:\\(?<escaped>.)|\[(?:\\.|[^\]\\])*\]|(?<opens>\()(?:\?[:=!<]+)?|(?<closes>\))|(?<other>.))(?<times>(?:[?*+]|\{\d+(?:,\d*)?\})\??)?/gs;
/** Characters that an expression has for others. */
const SPECIAL = /[.^$]/;
/** Escapes of more than one character, which no expression here has. */
const LONG_ESCAPE = /\\[xucpPk1-9]/;

/**
 * The rarest needle of each alternative of an expression, in lower case.
 * @example needlesOf(/error code: \d|<title>(?:Just|Wait)/i) // [' code:', '<title']
 */
export function needlesOf({ source, flags }: RegExp): string[] {
  // With these flags letters beyond ASCII have others for their lower case.
  assert(!LONG_ESCAPE.test(source) && !/[uv]/.test(flags), source);
  const alternatives = [['']];
  let depth = 0;
  for (const { groups } of source.matchAll(PARTS)) {
    const { escaped, opens, closes, other, times } = groups!;
    if (opens !== undefined) depth++;
    if (closes !== undefined) depth--;
    const runs = alternatives.at(-1)!;
    const char = escaped === undefined ? other : escaped.replace(/\w/, '');
    if (depth === 0 && other === '|') alternatives.push(['']);
    else if (depth > 0 || times !== undefined || !char || (other !== undefined && SPECIAL.test(other))) runs.push('');
    else runs[runs.length - 1] += char.toLowerCase();
  }
  return alternatives.map((runs) => {
    const needles = runs.flatMap(windowsOf);
    assert(needles.length > 0, `an alternative of /${source}/ has no needle: ${runs.join('…')}`);
    return needles.reduce((rarest, needle) => (commonness(needle) < commonness(rarest) ? needle : rarest));
  });
}

function windowsOf(run: string): string[] {
  const count = Math.max(0, run.length - NEEDLE_CHARS + 1);
  return Array.from({ length: count }, (_, at) => run.slice(at, at + NEEDLE_CHARS));
}

const COMMON_CHARS = /[ <>/="acdehilmnoprstu]/g;
/** What many pages have, although its characters are not all common. */
const COMMON =
  '<title></title> class="block created by the reader from your site with your view the request validate ?source? ?type= __title';

function commonness(needle: string): number {
  return COMMON.includes(needle) ? NEEDLE_CHARS + 1 : (needle.match(COMMON_CHARS)?.length ?? 0);
}
