import { signal } from '@preact/signals';
import { useEffect } from 'preact/hooks';

interface Shown {
  readonly name: string;
  readonly environment: string;
}

/** What the page that is open is about, for the frame to say so on a page about production. */
export const shownEnvironment = signal<Shown | null>(null);

/** Of a page about one vault, or about something in it. Undefined until it is known. */
export function useEnvironment(name: string, environment: string | undefined): void {
  useEffect(() => {
    if (environment === undefined) return;
    const shown = { name, environment };
    shownEnvironment.value = shown;
    return () => {
      if (shownEnvironment.value === shown) shownEnvironment.value = null;
    };
  }, [name, environment]);
}
