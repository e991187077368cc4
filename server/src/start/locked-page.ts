import { createHash } from 'node:crypto';
import type { LockedState } from './locked-server.ts';

const STYLE =
  ':root{color-scheme:light dark}body{font:16px/1.5 system-ui,sans-serif;max-width:36rem;margin:4rem auto;padding:0 1rem}label{display:block;margin:1.5rem 0 .25rem}input{font:inherit;width:100%;box-sizing:border-box;padding:.5rem}button{font:inherit;margin-top:1rem;padding:.5rem 1rem}[role=alert]{border-left:4px solid;padding-left:1rem}';
const STYLE_HASH = createHash('sha256').update(STYLE).digest('base64');

const PROBLEMS: Record<LockedState['seals'][number]['problem'], string> = {
  unreachable: 'cannot be reached; it is tried again',
  denied: 'refuses the credential of this node',
  disabled: 'is disabled there',
  deleted: 'was deleted there',
  wrong: 'opens another key',
  misconfigured: 'is not set up on this machine',
  no_copy: 'has no copy of the root key',
  shares_needed: 'waits for shares',
};

/** A page without a script, on which people enter their shares. */
export function lockedPage({ sealed, shares, seals }: LockedState, problem: string | null) {
  const progress =
    shares === null
      ? '<p>It takes no shares. It starts by itself as soon as one of its seals opens.</p>'
      : sealed
        ? `<p>${shares.entered} of ${shares.needed} shares were entered, of set ${shares.set_id}, which was made on ${shares.made_on} with ${shares.parts} shares.</p><form method="post" action="/unseal"><label for="share">One share</label><input id="share" name="share" type="password" autocomplete="off" spellcheck="false" required autofocus><button>Enter it</button></form>`
        : '<p>Enough shares were entered. The service starts now.</p>';
  const list = seals.map(({ reference, problem: why }) => `<li>${reference} ${PROBLEMS[why]}</li>`).join('');
  const html = `<!doctype html><html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>Coffer is sealed</title><style>${STYLE}</style></head><body><main><h1>${sealed ? 'Coffer is sealed' : 'Coffer is starting'}</h1>${problem === null ? '' : `<p role="alert">${escapeText(problem)}</p>`}${progress}<h2>Its seals</h2><ul>${list}</ul></main></body></html>`;
  const headers = {
    'content-type': 'text/html; charset=utf-8',
    'content-security-policy': `default-src 'none'; style-src 'sha256-${STYLE_HASH}'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'`,
    'x-content-type-options': 'nosniff',
    'referrer-policy': 'no-referrer',
  };
  return { html, headers };
}

function escapeText(text: string): string {
  return text.replaceAll(/[&<>"']/g, (one) => `&#${one.charCodeAt(0)};`);
}
