import assert from 'node:assert/strict';
import { test } from 'node:test';
import { headingId, renderMarkdown } from './markdown.ts';

const render = (source: string) =>
  renderMarkdown(source, (target) =>
    target.startsWith('../') ? { href: null, file: target.slice(3) } : { href: `to/${target}` },
  );
const bodyOf = (source: string) => render(source).body.markup;

test('each kind of block and mark becomes markup', () => {
  const cases: [string, string][] = [
    ['a\nb `c` **d `e`**', '<p>a b <code>c</code> <strong>d <code>e</code></strong></p>'],
    [
      '[a `b`](c.md#d) [e](../f.md)',
      '<p><a href="to/c.md#d">a <code>b</code></a> e (<code>f.md</code> in the repository)</p>',
    ],
    ['- a\n  b\n- c', '<ul><li>a b</li><li>c</li></ul>'],
    ['3. a\n4. b', '<ol start="3"><li>a</li><li>b</li></ol>'],
    ['> a\n> b', '<blockquote>a b</blockquote>'],
    ['## A `b`: c', '<h2 id="a-b-c"><a href="#a-b-c">A <code>b</code>: c</a></h2>'],
    ['```sh\na  **b**\n\n# c\n```', '<pre><code>a  **b**\n\n# c</code></pre>'],
    ['| a | |\n|---|---|\n| `b \\| c` | d |', '<tr><td><code>b | c</code></td><td>d</td></tr>'],
    [
      '<details><summary>With `curl`</summary>\n\na\n\n- b\n\n</details>\n\nc',
      '<details><summary>With <code>curl</code></summary><p>a</p><ul><li>b</li></ul></details><p>c</p>',
    ],
    ['`*` and 2 * 3', '<p><code>*</code> and 2 * 3</p>'],
  ];
  for (const [source, expected] of cases) assert.ok(bodyOf(source).includes(expected), bodyOf(source));
  assert.equal(render('# The `a`\n\nb').title, 'The a');
});

test('text never becomes markup', () => {
  for (const source of [
    'a & "b" \'c\'',
    '`<script>`',
    '```\n<script>\n```',
    '[a](x"onclick=b)',
    '| a |\n|---|\n| `<b>` |',
  ]) {
    assert.doesNotMatch(bodyOf(source), /<script|<b>|"onclick|& /, source);
  }
});

test('what else Markdown knows is refused with its line, so that no page is shown other than it was meant', () => {
  const others = [
    '#### a',
    '* a',
    '+ a',
    '---',
    '    a',
    '<div>',
    'a <b>',
    'a &nbsp; b',
    '![a](b)',
    'a *b* c',
    'a _b_ c',
    'a \\* b',
    'a ` b',
    '[a][b](c',
    '- a\n  - b',
    '```sh\na',
    '```rust\na\n```',
    '| a |\n| b |',
    '| a | b |\n|---|---|\n| c |',
    '## a\n\n## a',
  ];
  for (const source of others) assert.throws(() => bodyOf(`x\n\n${source}`), /^Error: line \d+: /, source);
});

test('headings have the ids that repositories give them', () => {
  assert.equal(headingId('A job would remove too much'), 'a-job-would-remove-too-much');
  assert.equal(headingId('Who can’t: `CV_X` & more (2)'), 'who-cant-cv_x--more-2');
});
