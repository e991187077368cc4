import { ERROR_CODES, INCOMPLETE_REQUEST_ERRORS } from '../../kernel/base/errors.ts';
import { codeBlock } from './code-block.ts';
import { breakable, type Html, html, inline } from './html.ts';
import { ERRORS, type Links } from './page-links.ts';

/** Rules that hold for every endpoint and are therefore not repeated at each. */
export function conventionsContent(serverUrl: string, links: Links): Html {
  const rows: [string, string][] = [
    ['Base URL', `\`${serverUrl}\``],
    [
      'Paths',
      'Each path also works with `/v1` added or removed: `/v1/vaults` is `/vaults`, `/auth/me` is `/v1/auth/me`.',
    ],
    [
      'Credentials',
      'People and scripts send `Authorization: Bearer $COFFER_TOKEN`, a session or a personal access token. Machines send `X-Client-Id` and `X-Client-Secret`, present a client certificate on the TLS port, or send a token issued for their own identity. Agents and operators send `X-Cluster-Token`. Each endpoint lists the credentials it accepts; any other valid credential is rejected with 403.',
    ],
    [
      'Bodies',
      'JSON in UTF-8. An unknown field is rejected. If no field is required, an empty body and `{}` are the same.',
    ],
    [
      'Times',
      'ISO 8601 in UTC with milliseconds: `2026-11-14T10:00:00.000Z`. A filter also accepts a date, which starts at midnight.',
    ],
    ['Queries', 'A parameter without a value is treated as absent.'],
    [
      'Lists',
      'Send `next_cursor` back as `cursor`, with the same filters; it is null on the last page. `limit` is at most 1,000. Items you may not read are omitted, so a page can be short.',
    ],
    [
      'Repeating',
      'With an `Idempotency-Key` a change is made only once: for 24 hours the same request gets the first response again. A different request with the same key is rejected.',
    ],
    [
      'Approval',
      'A change that needs approval returns 202 with an `approval_id` and is applied once another person approves it.',
    ],
    [
      'Rate limits',
      '`X-RateLimit-Limit`, `X-RateLimit-Remaining` and `X-RateLimit-Reset` show what is left. After a 429 wait `Retry-After` seconds.',
    ],
    ['Request id', 'Every response has an `X-Request-Id`, which also identifies its audit entry.'],
    [
      'HEAD and OPTIONS',
      'HEAD returns the same as GET, without the body. OPTIONS returns 204, with the methods in `Allow`.',
    ],
  ];
  return html`<h1>Conventions</h1>
<p class="lead">What applies to every endpoint. The meaning of each error is on the page of <a href="${links.to(ERRORS)}">error codes</a>.</p>
<dl class="facts wide">${rows.map(([term, text]) => html`<div><dt>${term}</dt><dd>${inline(text)}</dd></div>`)}</dl>`;
}

export function errorsContent(): Html {
  return html`<section class="unfiltered"><h1>Error codes</h1>
<p class="lead">Every error response has this form. Programs should use <code>code</code>, which never changes; <code>message</code> is for people.</p>
${codeBlock('Error response', REFUSAL)}
<p>${inline(INCOMPLETE_REQUEST_ERRORS)}</p></section>
<table class="stacked errors">
<thead><tr><th scope="col">Code</th><th scope="col">HTTP</th><th scope="col">Meaning</th></tr></thead>
<tbody>${Object.entries(ERROR_CODES).map(([code, [status, meaning]]) => {
    return html`<tr id="error-${code}" data-words="${`${code} ${status} ${meaning}`.toLowerCase()}">
<th scope="row"><a href="#error-${code}"><code class="field">${breakable(code)}</code></a></th>
<td>${status}</td><td>${inline(meaning)}</td></tr>`;
  })}</tbody>
</table>`;
}

const REFUSAL = JSON.stringify(
  {
    error: {
      code: 'VALIDATION_FAILED',
      message: 'The request is not valid: /body/name is required.',
      request_id: 'req_01k9z3v7m2x8q4w6t5r1n0p9ha',
      details: { fields: [{ pointer: '/body/name', reason: 'is required' }] },
    },
  },
  null,
  2,
);
