/**
 * Pages are named by what follows `/docs/` in their address: `vaults`, `guide/vaults`, and the empty name for the index. Links between them are
 * relative, so that they also work under `/v1/docs` and behind a proxy that adds a prefix.
 */
export const INDEX = '';
export const CONVENTIONS = 'conventions';
export const ERRORS = 'errors';
export const GUIDE = 'guide';

/** Builds the links from one page to others. */
export class Links {
  readonly #up: string;

  constructor(from: string) {
    this.#up = from === INDEX ? '' : '../'.repeat(from.split('/').length);
  }

  to(page: string, fragment = ''): string {
    return `${this.#up}docs${page === INDEX ? '' : `/${page}`}${fragment === '' ? '' : `#${fragment}`}`;
  }

  toOpenApi(): string {
    return `${this.#up}openapi.json`;
  }
}
