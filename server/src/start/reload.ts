import { hasSameServers } from '../kernel/storage/database-url.ts';
import { PostgresDatabase } from '../kernel/storage/postgres.ts';
import { type Config, ConfigError, loadConfig } from '../settings/config.ts';
import { withSecretFiles } from '../settings/secret-files.ts';
import { SETTINGS } from '../settings/settings.ts';
import type { App } from './app.ts';

export type Environment = Readonly<Record<string, string | undefined>>;

/** The settings that this process takes over while it runs, if `canTake` says so. All others need a restart. */
interface Reloaded {
  canTake(before: Config, next: Config): boolean;
  take(app: App, next: Config): void;
}

const RELOADED: Partial<Record<string, Reloaded>> = {
  CV_LOG_LEVEL: {
    canTake: () => true,
    take: ({ kernel }, { logLevel }) => {
      kernel.log.level = logLevel;
    },
  },
  CV_DATABASE_URL: {
    // Only the password: another database would be another installation.
    canTake: (before, next) => hasSameServers(before.databaseUrl ?? '', next.databaseUrl ?? ''),
    take: ({ kernel: { database } }, { databaseUrl }) => {
      if (database instanceof PostgresDatabase && databaseUrl !== null) database.connectBy(databaseUrl);
    },
  },
  CV_SMTP_URL: {
    canTake: (before, next) => before.mail.kind === next.mail.kind,
    take: ({ kernel: { config } }, { mail }) => replaceIn(config, { mail }),
  },
  CV_METRICS_TOKEN: {
    canTake: () => true,
    take: ({ kernel: { config } }, { metricsToken }) => replaceIn(config, { metricsToken }),
  },
  // The file with the signing secret is read for each event anyway.
  CV_STRIPE_API_KEY: {
    canTake: (before, next) => (before.stripe === null) === (next.stripe === null),
    take: ({ kernel: { config } }, { stripe }) => replaceIn(config, { stripe }),
  },
};

/** These are read where they are used. Nothing else may change the configuration of a running process. */
function replaceIn(config: Config, part: Partial<Pick<Config, 'mail' | 'stripe' | 'metricsToken'>>): void {
  Object.assign(config, part);
}

/**
 * Loads the settings again. The environment of a running process does not change, but the files do that its variables with `_FILE` name. If the new
 * settings are wrong, the service goes on with those it has.
 */
export class Reload {
  readonly #app: App;
  readonly #env: Environment;
  #written: Environment;

  constructor(app: App, env: Environment) {
    this.#app = app;
    this.#env = env;
    this.#written = withSecretFiles(env, []);
  }

  async run(): Promise<void> {
    const { log, config } = this.#app.kernel;
    let next: Config;
    try {
      next = loadConfig(this.#env);
    } catch (error) {
      if (!(error instanceof ConfigError)) throw error;
      log.error({ what_to_do: error.problems }, 'the settings are wrong; those from before stay in use');
      return;
    }
    const written = withSecretFiles(this.#env, []);
    const changed = SETTINGS.map(({ name }) => name).filter((name) => written[name] !== this.#written[name]);
    const reloaded = changed.filter((name) => RELOADED[name]?.canTake(config, next) === true);
    for (const name of reloaded) RELOADED[name]?.take(this.#app, next);
    // A setting that was not reloaded is named again next time, until a restart.
    this.#written = { ...this.#written, ...Object.fromEntries(reloaded.map((name) => [name, written[name]])) };
    await this.#app.lookForCertificate();
    const left = changed.filter((name) => !reloaded.includes(name));
    log.info({ reloaded }, 'the settings were loaded again');
    if (left.length > 0) log.warn({ settings: left }, 'these settings have changed and need a restart');
  }
}
