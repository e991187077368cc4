export const vaultsTexts = {
  title: 'Vaults',
  intro: 'A vault holds the secrets of one service in one environment.',
  create: 'New vault',
  createTitle: 'Create a vault',
  nameHint: 'Letters, digits, dots, dashes and underscores, such as payments-prod. It cannot be changed later.',
  environments: {
    development: 'development',
    homologation: 'acceptance testing',
    staging: 'staging',
    production: 'production',
  },
  environmentHint:
    'Where the values of this vault are used. A production vault holds production secrets only. It cannot be changed later.',
  environmentMissing: 'Choose where the values are used.',
  chooseEnvironment: 'Choose one',
  zeroKnowledge: 'Zero-knowledge: only your side can read the values',
  zeroKnowledgeHint:
    'Values are encrypted in your browser or program with a passphrase that only you have. The service can never read them, and cannot help if the passphrase is lost. This cannot be changed later.',
  zeroKnowledgeShort: 'zero-knowledge',
  empty: 'No vaults yet',
  emptyText: 'Create one for a service, or ask somebody who has one to make you a member.',
  filter: 'Filter by name',
  secrets: 'Secrets',
  tags: 'Tags',
  settingsChanged: 'Settings changed',
  tagsHint: 'Separated by commas.',
  showDeleted: 'Deleted vaults',
  deletedEmpty: 'No deleted vault can be restored.',
  deletionAsked: 'deletion waits for approval',
  deletedAt: 'Deleted',
  purgedAt: 'Removed for ever',
  restore: 'Restore',
  restored: (name: string) => `${name} is back.`,
  created: (name: string) => `${name} is created.`,
  none: 'No vault has this name.',
} as const;

export const vaultTexts = {
  kind: 'Vault',
  passphrase: 'Passphrase',
  passphraseText:
    'It seals the values of this vault, and never leaves the browser. Change it when somebody who knew it leaves.',
  changePassphrase: 'Change the passphrase …',
  gone: 'There is no such vault',
  goneText: 'It may have been deleted, or you have no access to it. Deleted vaults can be restored from the list.',
  newSecret: 'New secret',
  importFile: 'Paste or drop a .env file',
  members: 'Members',
  settings: 'Settings',
  nameFixed:
    'Name and environment cannot be changed: programs, connections and policies name the vault. For another name, create a vault and add the secrets there by',
  nameFixedCompare: 'comparing the two',
  nameFixedThen: '. Then give it to members and connections, and delete this one.',
  filter: 'Search paths',
  filterKey: 'Press / to search.',
  filterHint: 'All words must be part of the path.',
  count: (shown: number, all: number, isWhole: boolean) =>
    `${shown === all ? '' : `${shown} of `}${all}${isWhole ? '' : ' or more'} ${all === 1 ? 'secret' : 'secrets'}`,
  empty: 'No secrets yet',
  emptyText: 'Write one, or paste the .env file that the service has today.',
  emptyWrite: 'Write the first one.',
  list: 'Secrets of this vault',
  beside: 'The other secrets of this vault',
  folder: (name: string, count: number) => `${name}/ (${count})`,
  version: (version: number) => `v${version}`,
  fortress: 'fortress',
  sealed: 'zero-knowledge',
  deletionAsked: 'Somebody asked to delete this vault. It works as before until that is approved.',
  seeRequest: 'See the request',
  risk: (score: number) => `risk ${score}`,
  restore: 'Restore',
  showDeleted: 'Deleted secrets',
  deletedEmpty: 'Nothing deleted can be restored.',
} as const;

export const exportTexts = {
  button: 'Export',
  title: (vault: string) => `Export ${vault}`,
  warning:
    'The file has all values in plain text. Whoever gets it can read them, and this service cannot take them back. Every value counts as read in the audit log.',
  format: 'File',
  formats: {
    dotenv: '.env file',
    json: 'JSON: values by path',
    docker: '.env file for docker run --env-file',
    shell: 'file for a shell (. file)',
  },
  formatHints: {
    dotenv: 'A path becomes a name in capitals: db/password is DB_PASSWORD.',
    json: 'Paths stay as they are. Every value fits.',
    docker: 'A path becomes a name in capitals: db/password is DB_PASSWORD. Values must be one line.',
    shell: 'A path becomes a name in capitals: db/password is DB_PASSWORD. Every value fits.',
  },
  prefix: 'Only paths that begin with',
  prefixHint: 'Empty: all of them. Fortress secrets are never exported.',
  permit: 'Names that can run code',
  permitRisk:
    'A variable with one of these names makes programs load code or connect elsewhere, wherever the file is used. Whoever may write to this vault chose the name and the value. Tick only what you expect.',
  confirm: 'I know that the values leave this service in a file',
  submit: 'Download the file',
  done: (name: string) => `${name} is downloaded. Delete it when you no longer need it.`,
} as const;

export const importTexts = {
  title: 'Import a .env file',
  text: 'Contents of the file',
  hint: 'Paste it here, drop the file onto this box, or choose it. Nothing is written before you have seen the preview.',
  choose: 'Choose a file',
  taken: (name: string) => `${name} is read. It stays in this browser until you ask for the preview.`,
  prefix: 'Folder',
  prefixHint: 'Optional: paths begin with it.',
  existing: 'Secrets that exist already',
  update: 'get the new value as a new version',
  skip: 'stay as they are',
  fail: 'stop the import',
  existingHints: {
    update: 'The old value stays as a version that can be brought back. One with the same value is not written again.',
    skip: 'Only secrets that are not in the vault yet are written.',
    fail: 'If one of them exists, nothing at all is written.',
  },
  preview: 'Preview',
  apply: (count: number) => (count === 1 ? 'Write 1 secret' : `Write ${count} secrets`),
  nothing: 'There is nothing to write: every secret is in the vault already.',
  nothingChosen: 'There is nothing to write: everything that would be is left out.',
  isWritten: 'Write',
  writeOf: (path: string) => `Write ${path}`,
  leftOut: 'left out',
  problem: 'cannot be written',
  problems: (count: number) =>
    `${count === 1 ? 'One cannot be written. Leave it out' : `${count} cannot be written. Leave them out`}, or go back and correct the file.`,
  problemTexts: {
    SECRET_ALREADY_EXISTS: 'It exists already, and you chose to stop at such secrets.',
    ROTATION_IN_PROGRESS: 'It is being rotated at this moment. Try again in a minute.',
  } as Readonly<Record<string, string>>,
  path: 'Path',
  change: 'What happens',
  changes: { create: 'new', update: 'new version', unchanged: 'unchanged', skip: 'stays' },
  changeTexts: {
    create: () => '',
    update: (version: number) =>
      `It exists: version ${version} is written, version ${version - 1} stays in its history.`,
    unchanged: () => 'It exists with the same value: nothing is written.',
    skip: () => 'It exists and is not changed.',
  },
  summary: (created: number, updated: number, kept: number, leftOut: number) =>
    [
      created > 0 ? `${created} new` : '',
      updated > 0 ? `${updated} that ${updated === 1 ? 'exists gets' : 'exist get'} a new version` : '',
      kept > 0 ? `${kept} that ${kept === 1 ? 'exists stays as it is' : 'exist stay as they are'}` : '',
      leftOut > 0 ? `${leftOut} left out` : '',
    ]
      .filter(Boolean)
      .join(', '),
  done: (created: number, updated: number) =>
    `${[
      created > 0 ? `${created} ${created === 1 ? 'secret is' : 'secrets are'} new` : '',
      updated > 0 ? `${updated} ${updated === 1 ? 'has' : 'have'} a new version` : '',
    ]
      .filter(Boolean)
      .join(', ')}.`,
  warnings: 'Look at these lines before you write them',
  warning: (line: number, path: string, text: string) => `Line ${line}, ${path}: ${text}`,
  warningTexts: {
    repeated_key: 'the name stands on an earlier line too; this line counts.',
    unexpanded_variable: 'a shell would replace what follows the $; here it is written as it stands.',
  },
  tooLarge: 'The file is larger than 1 MiB.',
} as const;
