import { Draws } from '../anomalies/random.ts';
import { PERSONAL_KINDS } from './personal-values.ts';
import { SECRET_KINDS } from './secret-values.ts';

export const PROMPTS = 500;
export const LANGUAGES = ['en', 'de', 'fr', 'es', 'pt', 'it', 'nl', 'pl'] as const;
export const FORMATS = ['prose', 'env', 'yaml', 'json', 'code', 'shell', 'log', 'url'] as const;
type Language = (typeof LANGUAGES)[number];
type Format = (typeof FORMATS)[number];
type Disguise = 'plain' | 'base64' | 'url-encoded' | 'split';

/** A prompt with something in it that must not leave. */
export interface Prompt {
  readonly kind: string;
  readonly isSecret: boolean;
  readonly language: Language;
  readonly format: Format;
  readonly disguise: Disguise;
  readonly text: string;
  /** None of these may be left in what is sent. */
  readonly planted: readonly string[];
}

interface Item {
  readonly kind: string;
  readonly isSecret: boolean;
  readonly noun: string;
  readonly variable: string;
  readonly value: string;
  readonly written: string;
}

const PASSWORD_NOUN: Record<Language, string> = {
  en: 'password',
  de: 'Passwort',
  fr: 'mot de passe',
  es: 'contraseña',
  pt: 'senha',
  it: 'password',
  nl: 'wachtwoord',
  pl: 'hasło',
};

/** Sentences around what is planted: N is what it is called, V the value. */
const SENTENCES: Record<Language, readonly string[]> = {
  en: [
    'Why does the deployment fail? Our N is V and it worked yesterday.',
    'Please check this for me. N: V. What should I do with it?',
    'I found "V" in an old ticket, they said it is the N. The other N was V, is that a problem?',
  ],
  de: [
    'Warum schlägt die Anmeldung fehl? Das N lautet V und gestern ging es noch.',
    'Kannst du das prüfen? N: V. Was soll ich damit machen?',
    'Der Kollege schrieb mir, N ist V, und jetzt kommt ein Fehler 403.',
  ],
  fr: [
    'Pourquoi la connexion échoue-t-elle ? Le N est V depuis ce matin.',
    'Peux-tu vérifier ceci ? N : V. Que dois-je en faire ?',
    'On m’a donné N: V mais le service répond 401.',
  ],
  es: [
    '¿Por qué falla el despliegue? La N es V y ayer funcionaba.',
    'Revisa esto, por favor. N: V. ¿Qué hago con ello?',
    'En el registro aparece N=V y no sé por qué.',
  ],
  pt: [
    'Por que o login falha? A N é V e ontem funcionava.',
    'Pode verificar isto? N: V. O que devo fazer?',
    'No chamado estava N = V, e agora dá erro 500.',
  ],
  it: [
    'Perché il rilascio fallisce? La N è V e ieri funzionava.',
    'Puoi controllare? N: V. Cosa devo fare?',
    'Nel ticket c’era N = V, e adesso risponde 403.',
  ],
  nl: [
    'Waarom mislukt de uitrol? Het N is V en gisteren werkte het nog.',
    'Wil je dit nakijken? N: V. Wat moet ik ermee doen?',
    'In het logboek staat N=V en ik weet niet waarom.',
  ],
  pl: [
    'Dlaczego wdrożenie nie działa? N to V, a wczoraj działało.',
    'Sprawdź to, proszę. N: V. Co mam z tym zrobić?',
    'W zgłoszeniu było N = V i teraz jest błąd 500.',
  ],
};

const REQUESTS: Record<Language, string> = {
  en: 'What is wrong with this file?',
  de: 'Was stimmt an dieser Datei nicht?',
  fr: 'Qu’est-ce qui ne va pas dans ce fichier ?',
  es: '¿Qué está mal en este archivo?',
  pt: 'O que há de errado neste arquivo?',
  it: 'Che cosa non va in questo file?',
  nl: 'Wat is er mis met dit bestand?',
  pl: 'Co jest nie tak z tym plikiem?',
};

const escaped = (text: string) => JSON.stringify(text).slice(1, -1);
const camel = (name: string) => name.toLowerCase().replace(/_(.)/g, (_, letter: string) => letter.toUpperCase());
const kebab = (name: string) => name.toLowerCase().replaceAll('_', '-');

const WRITERS: Record<Exclude<Format, 'prose'>, (draws: Draws, variable: string, written: string) => string> = {
  env: (draws, variable, written) => {
    const value = written.includes('\n') || draws.chance(0.4) ? `"${escaped(written)}"` : written;
    return `# settings of the shop\nNODE_ENV=production\nPORT=8080\n${variable}=${value}\nLOG_LEVEL=info\n`;
  },
  yaml: (_, variable, written) => {
    const value = written.includes('\n')
      ? `|\n      ${written.replaceAll('\n', '\n      ')}`
      : written.includes(': ')
        ? `'${written}'`
        : written;
    return `apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: shop\nspec:\n  replicas: 3\n  env:\n    ${camel(variable)}: ${value}\n    timeout: 30s\n`;
  },
  json: (_, variable, written) =>
    `{\n  "service": "shop",\n  "replicas": 3,\n  "${camel(variable)}": ${JSON.stringify(written)},\n  "timeoutSeconds": 30\n}\n`,
  code: (draws, variable, written) =>
    draws.pick([
      () =>
        `import { connect } from './client.ts';\n\nconst ${camel(variable)} = ${JSON.stringify(written)};\nawait connect({ retries: 3 });\n`,
      () => `import os\n\n${variable} = ${JSON.stringify(written)}\n\ndef main():\n    return connect(retries=3)\n`,
      () =>
        `package main\n\nfunc main() {\n\t${camel(variable)} := ${JSON.stringify(written)}\n\tconnect(${camel(variable)}, 3)\n}\n`,
      () => `public class Shop {\n  private static final String ${variable} = ${JSON.stringify(written)};\n}\n`,
    ])(),
  shell: (draws, variable, written) =>
    draws.pick([
      () => `#!/bin/sh\nset -eu\nexport ${variable}='${written}'\n./deploy.sh --wait\n`,
      () => `$ ${variable}="${written}" ./deploy.sh --wait\ndeploy: error: exit status 1\n`,
    ])(),
  log: (draws, variable, written) =>
    `2026-11-1${draws.whole(0, 9)}T0${draws.whole(0, 9)}:12:44.018Z INFO  starting shop 4.12.1 (pid ${draws.whole(100, 9999)})\n2026-11-14T09:12:44.${draws.whole(100, 999)}Z DEBUG config ${kebab(variable)}=${written}\n2026-11-14T09:12:45.101Z ERROR connect failed after 3 attempts\n`,
  url: (_, variable, written) =>
    `curl -sS 'https://api.example.com/v2/items?page=2&${variable.toLowerCase()}=${encodeURIComponent(written)}&sort=name' returns 403.\n`,
};

/** Encodes what is written; only secrets, and only where somebody would do so. */
function disguised(
  draws: Draws,
  item: Item,
  format: Format,
): { disguise: Disguise; written: string; planted: string[] } | null {
  if (!item.isSecret || item.written !== item.value || item.value.includes('\n')) return null;
  if ((format === 'yaml' || format === 'json' || format === 'env') && draws.chance(0.2)) {
    const written = Buffer.from(item.value).toString('base64');
    return { disguise: 'base64', written, planted: [written] };
  }
  return null;
}

/** A literal put together from two to four parts, in one of the ways of programming languages. */
function split(draws: Draws, { variable, value }: Item): { text: string; planted: string[] } {
  const count = draws.whole(2, 4);
  const length = Math.ceil(value.length / count);
  const parts = Array.from({ length: count }, (_, at) => value.slice(at * length, (at + 1) * length)).filter(
    (part) => part !== '',
  );
  const literals = parts.map((part) => JSON.stringify(part));
  const text = draws.pick([
    () => `const ${camel(variable)} = ${literals.join(' + ')};\n`,
    () => `String ${camel(variable)} =\n    ${literals.join('\n    + ')};\n`,
    () => `$${camel(variable)} = ${literals.join(' . ')};\n`,
    () => `${variable} = (${literals.join('\n    ')})\n`,
    () => `const ${camel(variable)} = [${literals.join(', ')}].join('');\n`,
  ])();
  return { text: `// reads the price list\n${text}load(3);\n`, planted: parts.filter((part) => part.length >= 6) };
}

/** A line of a block counts as much as the whole of it. */
function pieces(value: string): string[] {
  return value.includes('\n')
    ? value.split('\n').filter((line) => line.length >= 24 && !line.startsWith('-'))
    : [value];
}

function promptOf(draws: Draws, item: Item, language: Language, format: Format): Prompt {
  const { kind, isSecret, variable, value, written } = item;
  const about = { kind, isSecret, language, format } as const;
  if (format === 'prose' || (format === 'url' && (written !== value || value.includes('\n')))) {
    const noun = kind === 'password' ? PASSWORD_NOUN[language] : item.noun;
    const sentence = draws
      .pick(SENTENCES[language])
      .replaceAll('N', noun)
      .replaceAll('V', () => written);
    return { ...about, format: 'prose', disguise: 'plain', text: sentence, planted: pieces(value) };
  }
  const request = `${REQUESTS[language]}\n\n`;
  if (format === 'code' && isSecret && written === value && !value.includes('\n') && draws.chance(0.3)) {
    const { text, planted } = split(draws, item);
    return { ...about, disguise: 'split', text: request + text, planted };
  }
  const hidden = disguised(draws, item, format);
  if (hidden !== null) {
    return { ...about, ...hidden, text: request + WRITERS[format](draws, variable, hidden.written) };
  }
  const text = request + WRITERS[format](draws, variable, written);
  if (format === 'url') {
    const encoded = encodeURIComponent(value);
    return { ...about, disguise: encoded === value ? 'plain' : 'url-encoded', text, planted: [encoded] };
  }
  return { ...about, disguise: 'plain', text, planted: pieces(value) };
}

/** The same prompts for the same seed: every kind about eight times, in changing languages and formats. */
export function promptsOf(seed: number): Prompt[] {
  const kinds = [
    ...SECRET_KINDS.map((kind) => ({ kind, isSecret: true })),
    ...PERSONAL_KINDS.map((kind) => ({ kind, isSecret: false })),
  ];
  return Array.from({ length: PROMPTS }, (_, at) => {
    const draws = Draws.for(seed, 'prompt', at);
    const { kind, isSecret } = kinds[at % kinds.length] as (typeof kinds)[number];
    const made = kind.make(draws);
    const planted = typeof made === 'string' ? { value: made } : made;
    const { name, noun, variable } = kind;
    const written = 'written' in planted && planted.written !== undefined ? planted.written : planted.value;
    const item = { kind: name, isSecret, noun, variable, value: planted.value, written };
    return promptOf(
      draws,
      item,
      draws.pick(LANGUAGES),
      FORMATS[(at + Math.floor(at / kinds.length)) % FORMATS.length] as Format,
    );
  });
}
