// Dark or light: as the system, unless the reader chose.
const KEY = 'theme';
export const THEMES = ['system', 'light', 'dark'] as const;
export type Theme = (typeof THEMES)[number];

export const theme = (): Theme => THEMES.find((name) => name === localStorage.getItem(KEY)) ?? 'system';

export function applyTheme(chosen: Theme = theme()): void {
  localStorage.setItem(KEY, chosen);
  document.documentElement.dataset.theme = chosen;
}
