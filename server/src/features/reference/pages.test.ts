import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { join, posix } from 'node:path';
import { before, describe, test } from 'node:test';
import Type from 'typebox';
import { ERROR_CODES } from '../../kernel/base/errors.ts';
import { BODY_BYTES_DEFAULT, endpoint, errorCodes } from '../../kernel/endpoint/declaration.ts';
import { object } from '../../kernel/wire/wire.ts';
import { DECLARATIONS } from '../../tools/declarations.ts';
import { getDocs } from './contract.ts';
import { guideAddress, guidePages } from './guide.ts';
import { html } from './html.ts';
import { indexContent } from './index-page.ts';
import { nounContent, nounContents } from './noun-page.ts';
import { type NounPage, nounPages } from './nouns.ts';
import { pageLayout } from './page-layout.ts';
import { CONVENTIONS, ERRORS, INDEX, Links } from './page-links.ts';
import { referencePages } from './pages.ts';

const ROOT = join(import.meta.dirname, '../../../..');
const HOSTILE = `<script>alert(1)</script>"'&\`<img src=x onerror=1>\``;
const NOUNS = nounPages(DECLARATIONS);

function idsIn(markup: string): string[] {
  return [...markup.matchAll(/ id="([^"]+)"/g)].map((match) => String(match[1]));
}

function linksIn(markup: string): string[] {
  return [...markup.matchAll(/ (?:href|src)="([^"]+)"/g)].map((match) => String(match[1]));
}

describe('the pages of the reference', () => {
  const pages = new Map<string, string>();
  before(() => {
    const parts = { declarations: DECLARATIONS, version: '0.1.0', serverUrl: 'http://127.0.0.1:7400' };
    for (const [page, make] of referencePages(parts)) pages.set(page, make());
  });
  const page = (name: string) => pages.get(name) ?? assert.fail(`there is no page ${name}`);

  test('every endpoint has its article on the page of its noun, and a line on the index that leads there', () => {
    for (const noun of NOUNS) {
      for (const { name } of noun.endpoints) {
        assert.equal(idsIn(page(noun.page)).filter((id) => id === name).length, 1, name);
        assert.ok(page(INDEX).includes(`<li id="${name}" `), name);
        assert.ok(linksIn(page(INDEX)).includes(`docs/${noun.page}#${name}`), name);
      }
    }
    assert.equal(NOUNS.flatMap(({ endpoints }) => endpoints).length, DECLARATIONS.length);
  });

  test('every error code is on its page, and every code of an endpoint leads to it', () => {
    for (const code of Object.keys(ERROR_CODES)) assert.ok(idsIn(page(ERRORS)).includes(`error-${code}`), code);
    for (const { page: name, endpoints } of NOUNS) {
      const links = linksIn(page(name));
      for (const code of endpoints.flatMap(errorCodes)) assert.ok(links.includes(`../docs/errors#error-${code}`), code);
    }
  });

  test('every link leads to a page that there is, and to something on it, under either spelling of the path', () => {
    let count = 0;
    for (const [from, markup] of pages) {
      assert.equal(new Set(idsIn(markup)).size, idsIn(markup).length, `ids of ${from}`);
      for (const start of ['/docs', '/v1/docs', '/behind/a/proxy/docs']) {
        const address = new URL(from === INDEX ? start : `${start}/${from}`, 'http://here');
        for (const link of linksIn(markup).filter((one) => !/^(?:https:|data:)/.test(one))) {
          const { pathname, hash } = new URL(link, address);
          count++;
          if (/\/(?:openapi\.json|docs\/(?:style\.css|script\.js))$/.test(pathname)) continue;
          assert.ok(pathname === start || pathname.startsWith(`${start}/`), `${link} on ${from}`);
          const target = page(pathname.slice(start.length + 1));
          if (hash !== '') assert.ok(idsIn(target).includes(decodeURIComponent(hash.slice(1))), `${link} on ${from}`);
        }
      }
    }
    assert.ok(count > 10_000, String(count));
  });

  test('every noun leads to the guide but the reference itself, and every page of the guide is shown', () => {
    for (const { page: name, guide } of NOUNS) {
      assert.equal(guide.length === 0, name === 'reference', name);
      for (const each of guide) assert.ok(linksIn(page(name)).includes(`../docs/guide/${each}`), name);
    }
    for (const each of guidePages()) assert.match(page(guideAddress(each)), /<h1 id=/);
    assert.match(page(guideAddress('first-hour')), /<figcaption>Shell<\/figcaption>/);
  });

  test('what the guide names and the service does not show is in the repository', () => {
    for (const [name, markup] of pages) {
      for (const [, file] of markup.matchAll(/\(<code>([^<]+)<\/code> in the repository\)/g)) {
        assert.ok(existsSync(join(ROOT, posix.normalize(String(file)))), `${file} on ${name}`);
      }
    }
  });

  test('no page is as long as the reference was, and the contents mark each page once', () => {
    for (const [name, markup] of pages) {
      assert.ok(markup.length < PAGE_CHARS_MAX, `${name}: ${markup.length}`);
      assert.equal(markup.match(/ aria-current="page"/g)?.length, 1, name);
    }
  });

  test('pages keep to the content security policy: nothing inline, nothing loaded from elsewhere', () => {
    for (const [name, markup] of pages) {
      assert.doesNotMatch(markup, /<style|<[^>]* style=|<[^>]* on[a-z]+=|javascript:/, name);
      assert.equal(markup.match(/<script/g)?.length, 1, name);
      for (const [, source] of markup.matchAll(/<(?:link|script|img)[^>]* (?:href|src)="([^"]+)"/g)) {
        assert.match(String(source), /^(?:(?:\.\.\/)*docs\/|data:image)/, name);
      }
    }
  });

  test('where the filter is, there is something to filter', () => {
    for (const [name, markup] of pages) {
      assert.equal(markup.includes('id="filter"'), /<main[\s\S]* data-words="/.test(markup), name);
    }
    assert.ok(!page(CONVENTIONS).includes('id="filter"'));
  });
});
const PAGE_CHARS_MAX = 300_000;

test('a noun without a description fails', () => {
  const { aboutNoun: _, ...undescribed } = getDocs;
  assert.throws(() => nounPages([{ ...undescribed, noun: 'boxes' }]), /boxes: give one of them aboutNoun/);
});

test('text of a declaration never becomes markup', () => {
  const hostile = endpoint({
    ...getDocs,
    name: 'hostile',
    method: 'POST',
    path: '/hostile/{id}',
    summary: HOSTILE,
    description: HOSTILE,
    audit: HOSTILE,
    effect: 'change',
    bodyBytesMax: BODY_BYTES_DEFAULT,
    params: object({ id: Type.String({ description: HOSTILE, examples: [HOSTILE] }) }),
    body: object({ [HOSTILE]: Type.Literal(HOSTILE, { description: HOSTILE, pattern: '.' }) }),
    output: Type.Object({ [HOSTILE]: Type.Array(Type.Enum([HOSTILE])) }),
    raw: 'none',
  });
  const about = { title: HOSTILE, group: 'Secrets', description: HOSTILE, guide: [] } as const;
  const noun: NounPage = { ...about, page: 'hostile', endpoints: [hostile] };
  const links = new Links(noun.page);
  const entries = [{ page: noun.page, title: HOSTILE, below: nounContents(noun) }];
  const markup = pageLayout({
    page: noun.page,
    title: HOSTILE,
    version: HOSTILE,
    links,
    contents: [{ title: HOSTILE, entries }],
    filters: HOSTILE,
    content: html`${indexContent([noun], HOSTILE, links)}${nounContent(noun, HOSTILE, links)}`,
  });
  assert.deepEqual(markup.match(/<script[^>]*>/g), ['<script src="../docs/script.js" defer>']);
  assert.doesNotMatch(markup, /<img/);
  // A quote inside an attribute would leave a tag with text that is no attribute.
  const attribute = String.raw`\s+[a-z-]+(?:="[^"<>]*")?`;
  const tag = new RegExp(`^</?[a-z][a-z0-9]*(?:${attribute})*>$`);
  for (const [found] of markup.matchAll(/<[^>]*>/g)) assert.match(found, /^<!doctype html>$/.test(found) ? /./ : tag);
});

/** The backgrounds that text appears on, in both colour schemes. */
const TEXT_ON: [text: string, papers: string[]][] = [
  ['ink', ['paper', 'raised', 'code-paper', 'accent-soft']],
  ['muted', ['paper', 'raised', 'code-paper', 'accent-soft']],
  ['accent', ['paper', 'raised', 'code-paper', 'accent-soft']],
  ['warn', ['paper', 'accent-soft']],
  ...['get', 'post', 'put', 'patch', 'delete'].map((method): [string, string[]] => [
    method,
    [`${method}-soft`, 'paper', 'raised', 'accent-soft'],
  ]),
];
/** WCAG 2.2, 1.4.3 and 1.4.11. */
const TEXT_CONTRAST_MIN = 4.5;
const FIELD_CONTRAST_MIN = 3;

describe('the style sheet', () => {
  const style = readFileSync(join(import.meta.dirname, 'assets/style.css'), 'utf8');
  const [light = '', dark = ''] = [...style.matchAll(/:root \{([^}]*)\}/g)].map((match) => String(match[1]));
  for (const [scheme, block] of [
    ['light', light],
    ['dark', dark],
  ] as const) {
    test(`text can be read in the ${scheme} scheme`, () => {
      const colours = new Map([...block.matchAll(/--([a-z-]+): (#[0-9a-f]{6});/g)].map(([, name, hex]) => [name, hex]));
      const contrast = (one: string, other: string) => contrastOf(colours.get(one) ?? '', colours.get(other) ?? '');
      for (const [text, papers] of TEXT_ON) {
        for (const paper of papers) {
          const found = contrast(text, paper);
          assert.ok(found >= TEXT_CONTRAST_MIN, `${text} on ${paper}: ${found.toFixed(2)}`);
        }
      }
      for (const paper of ['paper', 'raised']) assert.ok(contrast('field-line', paper) >= FIELD_CONTRAST_MIN, paper);
    });
  }
});

function contrastOf(one: string, other: string): number {
  const [bright = 0, dim = 0] = [luminance(one), luminance(other)].toSorted((a, b) => b - a);
  return (bright + 0.05) / (dim + 0.05);
}

function luminance(hex: string): number {
  assert.match(hex, /^#[0-9a-f]{6}$/);
  const [red = 0, green = 0, blue = 0] = [1, 3, 5]
    .map((at) => Number.parseInt(hex.slice(at, at + 2), 16) / 255)
    .map((part) => (part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4));
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
}
