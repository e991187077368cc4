import { type Html, html } from './html.ts';

/** The script adds the copy button, so that no dead button is shown without JavaScript. */
export function codeBlock(title: string, text: string): Html {
  return html`<figure class="code"><figcaption>${title}</figcaption><pre><code>${text}</code></pre></figure>`;
}
