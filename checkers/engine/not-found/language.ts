// The form in which each language names the things that may be missing, and their absence.

/**
 * Alternatives of patterns, lower case, matched without regard to diacritics (`foldText`). `~` stands for any ending of a word. A
 * phrase begins and ends with whole words, except in a language that is `joined`.
 */
export interface Language {
  /** Things that may be missing. */
  things: string;
  /** Statements that a thing is missing, before or after the thing. */
  gone: string;
  /** Participles and adjectives, which state an absence only after the thing and at the end of the statement. */
  after?: string;
  /** An absence without a thing; some are names of films, bands and status codes too. */
  bare?: string;
  /** Its words are written together or take prefixes, so phrases match inside words. */
  joined?: true;
}

export type Languages = Readonly<Record<string, Language>>;
