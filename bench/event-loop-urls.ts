// The URLs of the jobs in `bench/event-loop.ts`.
export const URLS = 1_000_000;
export const DOMAINS = 100_000;
export const urlAt = (n: number) => `https://www.example${n % DOMAINS}.com/a/path/to/page/${n}?q=${n * 7}&lang=en`;

export const lots = <T>(length: number, make: (n: number) => T): T[] => Array.from({ length }, (_, n) => make(n));
