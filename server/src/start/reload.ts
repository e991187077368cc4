import { ALL_SETTINGS, FEATURE_SETTINGS, loadConfig } from '../assembly/settings.ts';
import { hasSameServers } from '../kernel/storage/database-url.ts';
import { PostgresDatabase } from '../kernel/storage/postgres.ts';
import { type Config, ConfigError } from '../settings/config.ts';
import { withSecretFiles } from '../settings/secret-files.ts';
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
  CV_METRICS_TOKEN: {
    canTake: () => true,
    take: ({ kernel: { config } }, { metricsToken }) => replaceIn(config, { metricsToken }),
  },
};

/** It is read where it is used. Nothing else may change the configuration of a running process. */
function replaceIn(config: Config, part: Pick<Config, 'metricsToken'>): void {
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
    this.#written = withSecretFiles(env, ALL_SETTINGS);
  }

  async run(): Promise<void> {
    const { log } = this.#app.kernel;
    let next: Config;
    try {
      next = loadConfig(this.#env);
    } catch (error) {
      if (!(error instanceof ConfigError)) throw error;
      log.error({ what_to_do: error.problems }, 'the settings are wrong; those from before stay in use');
      return;
    }
    const written = withSecretFiles(this.#env, ALL_SETTINGS);
    const changed = ALL_SETTINGS.map(({ name }) => name).filter((name) => written[name] !== this.#written[name]);
    const reloaded = changed.filter((name) => this.#reload(name, next));
    // A setting that was not reloaded is named again next time, until a restart.
    this.#written = { ...this.#written, ...Object.fromEntries(reloaded.map((name) => [name, written[name]])) };
    await this.#app.lookForCertificate();
    const left = changed.filter((name) => !reloaded.includes(name));
    log.info({ reloaded }, 'the settings were loaded again');
    if (left.length > 0) log.warn({ settings: left }, 'these settings have changed and need a restart');
  }

  /** Takes over a setting of the service or of a feature; false if it needs a restart. */
  #reload(name: string, next: Config): boolean {
    const { config } = this.#app.kernel;
    const own = RELOADED[name];
    if (own?.canTake(config, next)) {
      own.take(this.#app, next);
      return true;
    }
    const group = FEATURE_SETTINGS.find(({ settings }) => settings.some((setting) => setting.name === name));
    if (group === undefined || !group.canReload(name, config.of(group), next.of(group))) return false;
    config.replace(group, next.of(group));
    return true;
  }
}
