import assert from 'node:assert/strict';
import { test } from 'node:test';
import Type from 'typebox';
import { BODY_BYTES_DEFAULT, type EndpointDeclaration, endpoint } from '../../kernel/endpoint.ts';
import { ERROR_CODES } from '../../kernel/errors.ts';
import { object } from '../../kernel/wire.ts';
import * as contract from './contract.ts';
import { referencePage } from './page.ts';

const { getDocs } = contract;
const REFERENCE_ENDPOINTS = Object.values(contract);
const HOSTILE = `<script>alert(1)</script>"'&\`<img src=x onerror=1>\``;

function render(...declarations: EndpointDeclaration[]): string {
  return referencePage({ declarations, version: '0.1.0', serverUrl: 'http://127.0.0.1:7400' });
}

test('the page shows every endpoint and every error code, and every link inside it leads somewhere', () => {
  const page = render(...REFERENCE_ENDPOINTS);
  const ids = [...page.matchAll(/ id="([^"]+)"/g)].map((match) => String(match[1]));
  for (const e of REFERENCE_ENDPOINTS) assert.ok(ids.includes(e.name), e.name);
  for (const code of Object.keys(ERROR_CODES)) assert.ok(ids.includes(`error-${code}`), code);
  const targets = [...page.matchAll(/href="#([^"]+)"/g)].map((match) => String(match[1]));
  for (const target of targets) assert.ok(ids.includes(target), target);
  assert.equal(new Set(ids).size, ids.length);
});

test('text of a declaration never becomes markup', () => {
  const hostile = endpoint({
    ...getDocs,
    name: 'hostile',
    method: 'POST',
    path: '/hostile/{id}',
    summary: HOSTILE,
    description: HOSTILE,
    noun: HOSTILE,
    audit: HOSTILE,
    effect: 'change',
    bodyBytesMax: BODY_BYTES_DEFAULT,
    params: object({ id: Type.String({ description: HOSTILE, examples: [HOSTILE] }) }),
    body: object({ [HOSTILE]: Type.Literal(HOSTILE, { description: HOSTILE, pattern: '.' }) }),
    output: Type.Object({ [HOSTILE]: Type.Array(Type.Enum([HOSTILE])) }),
    raw: 'none',
  });
  const page = referencePage({ declarations: [hostile], version: HOSTILE, serverUrl: HOSTILE });
  assert.deepEqual(page.match(/<script[^>]*>/g), ['<script src="docs/script.js" defer>']);
  assert.doesNotMatch(page, /<img/);
  // A quote that got into an attribute would leave a tag with something that is no attribute.
  const attribute = String.raw`\s+[a-z-]+(?:="[^"<>]*")?`;
  const tag = new RegExp(`^</?[a-z][a-z0-9]*(?:${attribute})*>$`);
  for (const [found] of page.matchAll(/<[^>]*>/g)) assert.match(found, /^<!doctype html>$/.test(found) ? /./ : tag);
});

test('the page keeps to the content security policy: nothing inline, nothing from elsewhere', () => {
  const page = render(...REFERENCE_ENDPOINTS);
  assert.doesNotMatch(page, /<style| style=| on[a-z]+=|javascript:/);
  for (const [, link] of page.matchAll(/ (?:href|src)="([^"]+)"/g)) {
    assert.match(String(link), /^(?:#|docs\/|openapi\.json$|data:image)/);
  }
});
