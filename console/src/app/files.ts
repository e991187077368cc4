/** Files whose names change with their content; the page says what they are called. */
const { icons = '', sheet = '', scripts = '' } = document.getElementById('app')?.dataset ?? {};

export const spriteAddress = `/console/icons/${icons}`;

let loaded: Promise<void> | null = null;

/** The style of the frame and its pages, which are not drawn before it is there. Scripts that the frame imports are requested at once, not after it. */
export function loadFrameFiles(): Promise<void> {
  loaded ??= new Promise((resolve, reject) => {
    for (const name of scripts.split(' ')) addLink('modulepreload', `/console/script/${name}`);
    const link = addLink('stylesheet', `/console/style/${sheet}`);
    link.onload = () => resolve();
    link.onerror = () => reject(new Error('the style of the frame was not loaded'));
  });
  return loaded;
}

function addLink(rel: string, href: string): HTMLLinkElement {
  const link = document.createElement('link');
  link.rel = rel;
  link.href = href;
  document.head.append(link);
  return link;
}
