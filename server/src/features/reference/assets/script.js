// The page is whole without this file; it only adds the filter, the copy buttons and the mark at the current endpoint.

const contents = document.querySelector('.contents');
const filter = document.querySelector('#filter');
const isNarrow = window.matchMedia('(max-width: 60rem)');
const noun = (element) => element.closest('.group, .noun');

function applyFilter() {
  const words = filter.value.toLowerCase().split(/\s+/).filter(Boolean);
  const groups = new Map();
  for (const element of document.querySelectorAll('[data-words]')) {
    element.hidden = !words.every((word) => element.dataset.words.includes(word));
    groups.set(noun(element), groups.get(noun(element)) || !element.hidden);
  }
  for (const [group, hasMatch] of groups) group.hidden = !hasMatch;
  document.querySelector('.introduction').hidden = words.length > 0;
  document.querySelector('#nothing-found').hidden = [...groups.values()].some(Boolean);
}

function clearFilter() {
  filter.value = '';
  applyFilter();
}

filter.closest('.filter').hidden = false;
filter.addEventListener('input', applyFilter);
document.addEventListener('keydown', (event) => {
  const isTyping = event.target instanceof HTMLInputElement;
  if (event.key === '/' && !isTyping && !event.ctrlKey && !event.metaKey) {
    event.preventDefault();
    contents.open = true;
    filter.focus();
  } else if (event.key === 'Escape' && event.target === filter) {
    clearFilter();
  }
});

// On a phone the contents would push the page itself out of sight.
function foldContents() {
  contents.open = !isNarrow.matches;
}
foldContents();
isNarrow.addEventListener('change', foldContents);
contents.addEventListener('click', (event) => {
  if (isNarrow.matches && event.target.closest('a') !== null) contents.open = false;
});

// A link to something the filter hides shows it again.
window.addEventListener('hashchange', () => {
  const target = document.getElementById(decodeURIComponent(location.hash.slice(1)));
  if (target?.closest('[hidden]')) {
    clearFilter();
    target.scrollIntoView();
  }
});

function addCopyButton(figure) {
  const button = document.createElement('button');
  button.type = 'button';
  button.textContent = 'Copy';
  button.setAttribute('aria-live', 'polite');
  button.addEventListener('click', async () => {
    const text = figure.querySelector('code').textContent;
    button.textContent = await copy(text, figure).then(
      () => 'Copied',
      () => 'Selected',
    );
    setTimeout(() => {
      button.textContent = 'Copy';
    }, 2000);
  });
  figure.prepend(button);
}

async function copy(text, figure) {
  // Selected first: where the clipboard is out of reach (plain http from another machine) the keyboard still does it.
  window.getSelection().selectAllChildren(figure.querySelector('code'));
  await navigator.clipboard.writeText(text);
  window.getSelection().removeAllRanges();
}

for (const figure of document.querySelectorAll('figure.code')) addCopyButton(figure);

const links = new Map();
for (const link of document.querySelectorAll('nav li a')) links.set(link.hash.slice(1), link);
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
  // A thin line below the top edge: exactly the endpoint being read crosses it.
  { rootMargin: '-15% 0px -84% 0px' },
);
for (const article of document.querySelectorAll('.endpoint')) watcher.observe(article);
