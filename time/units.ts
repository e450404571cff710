// Lengths of time.
export const MINUTE_S = 60;
export const DAY_S = 24 * 60 * MINUTE_S;

export const MINUTE_MS = MINUTE_S * 1000;
export const HOUR_MS = 60 * MINUTE_MS;
export const DAY_MS = 24 * HOUR_MS;
