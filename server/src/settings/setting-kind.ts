/** How a setting is parsed. `parse` returns undefined for text that is not what `expects` describes. */
export interface Kind<T> {
  readonly expects: string;
  readonly parse: (text: string) => T | undefined;
}

export const text: Kind<string> = {
  expects: 'a text of at most 1,024 characters without control characters',
  parse: (written) => (/^\P{Cc}{1,1024}$/u.test(written) ? written : undefined),
};

export const onOrOff: Kind<boolean> = {
  expects: '`on` or `off`',
  parse: (written) => (written === 'on' ? true : written === 'off' ? false : undefined),
};

export function choice<const C extends string>(...choices: readonly C[]): Kind<C> {
  return { expects: `one of ${choices.join(', ')}`, parse: (written) => choices.find((known) => known === written) };
}

export const whole = (min: number, max: number): Kind<number> => ({
  expects: `a whole number from ${min} to ${max}`,
  parse: (written) => {
    const number = /^(?:0|[1-9]\d{0,8})$/.test(written) ? Number(written) : -1;
    return number >= min && number <= max ? number : undefined;
  },
});

export function parseBaseUrl(written: string): string | undefined {
  // URL repairs much of its input: spaces, backslashes, an empty query. Input that it would repair is rejected.
  if (!/^https?:\/\/[^\s/\\?#@]+\/?$/i.test(written) || !URL.canParse(written)) return undefined;
  return new URL(written).origin;
}
