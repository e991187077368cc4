// The pages work without this file; it adds the filter, the copy buttons and the mark at the current endpoint.

const contents = document.querySelector('.contents');
const filter = document.querySelector('#filter');
const isNarrow = window.matchMedia('(max-width: 60rem)');

// Redirects an address from when the reference was a single page: the entry on the index links to the current page.
function followOldAddress() {
  const id = location.hash.slice(1);
  const isCode = id.startsWith('error-');
  const line = document.getElementById(isCode ? 'errors' : id);
  if (!line?.matches('li, .noun')) return;
  const { href } = line.querySelector('a');
  location.replace(isCode ? `${href}#${id}` : href);
}

const isIndex = document.body.dataset.page === '';

function hits() {
  return [...document.querySelectorAll('main [data-words]')].filter((element) => !element.hidden);
}

function applyFilter() {
  const words = filter.value.toLowerCase().split(/\s+/).filter(Boolean);
  for (const element of document.querySelectorAll('[data-words]')) {
    element.hidden = !words.every((word) => element.dataset.words.includes(word));
  }
  for (const section of document.querySelectorAll('.filtered')) {
    section.hidden = section.querySelector('[data-words]:not([hidden])') === null;
  }
  for (const section of document.querySelectorAll('.unfiltered')) section.hidden = words.length > 0;
  showCount(words);
}

function showCount(words) {
  const found = hits().length;
  document.querySelector('#nothing-found').hidden = found > 0;
  const all = document.querySelectorAll('main [data-words]').length;
  document.querySelector('#filter-status').textContent = words.length === 0 ? '' : `${found} of ${all}`;
  const everywhere = document.querySelector('#filter-all');
  if (everywhere === null) return;
  everywhere.hidden = words.length === 0;
  everywhere.hash = new URLSearchParams({ filter: words.join(' ') });
}

function clearFilter() {
  filter.value = '';
  applyFilter();
}

function linkOf(hit) {
  return hit?.querySelector('a[href]') ?? null;
}

// Up and down move through the hits; up from the first one returns to the filter box.
function moveAmongHits(event, step) {
  const links = hits().map(linkOf);
  const at = links.indexOf(document.activeElement);
  if (at === -1 && event.target !== filter) return;
  const next = at + step < 0 ? filter : links[at + step];
  if (!next) return;
  event.preventDefault();
  next.focus();
}

function onKey(event) {
  const isPlain = !event.ctrlKey && !event.metaKey && !event.altKey;
  const isTyping = event.target.matches?.('input, textarea, select');
  if (event.key === '/' && isPlain && !isTyping) {
    event.preventDefault();
    filter.focus();
    filter.select();
  } else if (event.key === 'Escape' && filter.value !== '') {
    clearFilter();
    filter.focus();
  } else if (event.key === 'Enter' && event.target === filter) {
    linkOf(hits()[0])?.click();
  } else if (event.key === 'ArrowDown' && isPlain && filter.value !== '') {
    moveAmongHits(event, 1);
  } else if (event.key === 'ArrowUp' && isPlain && filter.value !== '') {
    moveAmongHits(event, -1);
  }
}

function startFilter() {
  filter.closest('.filter').hidden = false;
  filter.addEventListener('input', applyFilter);
  document.addEventListener('keydown', onKey);
  const asked = new URLSearchParams(location.hash.slice(1)).get('filter');
  if (asked !== null) {
    filter.value = asked;
    filter.focus();
  }
  // The browser restores the typed text on back navigation, so the filter is applied at once.
  applyFilter();
  // A link to an element that the filter hides clears the filter.
  window.addEventListener('hashchange', () => {
    const target = document.getElementById(location.hash.slice(1));
    if (!target?.closest('[hidden]')) return;
    clearFilter();
    target.scrollIntoView();
  });
}

// On a phone the open contents would push the page out of sight.
function foldContents() {
  contents.open = !isNarrow.matches;
}

function addCopyButton(figure) {
  const button = document.createElement('button');
  button.type = 'button';
  button.textContent = 'Copy';
  button.setAttribute('aria-live', 'polite');
  button.addEventListener('click', async () => {
    button.textContent = await copy(figure.querySelector('code')).then(
      () => 'Copied',
      () => 'Selected',
    );
    setTimeout(() => {
      button.textContent = 'Copy';
    }, 2000);
  });
  figure.prepend(button);
}

async function copy(code) {
  // The text is selected first: if the clipboard is unavailable (plain http from another machine), the keyboard can still copy it.
  window.getSelection().selectAllChildren(code);
  await navigator.clipboard.writeText(code.textContent);
  window.getSelection().removeAllRanges();
}

// Marks the current endpoint in the contents: exactly one endpoint crosses a thin line below the top edge.
function markWhatIsRead() {
  const links = new Map();
  for (const link of document.querySelectorAll('.endpoints a')) links.set(link.hash.slice(1), link);
  const watcher = new IntersectionObserver(
    (entries) => {
      for (const { target, isIntersecting } of entries) {
        const link = links.get(target.id);
        if (isIntersecting) {
          link?.setAttribute('aria-current', 'true');
          if (!isNarrow.matches) link?.scrollIntoView({ block: 'nearest' });
        } else {
          link?.removeAttribute('aria-current');
        }
      }
    },
    { rootMargin: '-15% 0px -84% 0px' },
  );
  for (const article of document.querySelectorAll('.endpoint')) watcher.observe(article);
}

if (isIndex) followOldAddress();
if (filter !== null) startFilter();
foldContents();
isNarrow.addEventListener('change', foldContents);
contents.addEventListener('click', (event) => {
  if (isNarrow.matches && event.target.closest('a') !== null) contents.open = false;
});
for (const figure of document.querySelectorAll('figure.code')) addCopyButton(figure);
markWhatIsRead();
