import { signal } from '@preact/signals';

export type Theme = 'system' | 'light' | 'dark';
const THEMES: readonly Theme[] = ['system', 'light', 'dark'];
const STORED = 'coffer-theme';

export const theme = signal<Theme>('system');

/** Colours follow the system unless the person chose. */
export function applyStoredTheme(): void {
  const stored = localStorage.getItem(STORED);
  apply(THEMES.find((each) => each === stored) ?? 'system');
}

export function nextTheme(): void {
  const next = THEMES[(THEMES.indexOf(theme.value) + 1) % THEMES.length] ?? 'system';
  localStorage.setItem(STORED, next);
  apply(next);
}

function apply(chosen: Theme): void {
  theme.value = chosen;
  document.documentElement.style.colorScheme = chosen === 'system' ? '' : chosen;
}
