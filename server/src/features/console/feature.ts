import { CofferError } from '../../kernel/base/errors.ts';
import { feature } from '../../kernel/feature/declaration.ts';
import type { Context } from '../../kernel/request/context.ts';
import { ConsoleFiles } from './console-files.ts';
import * as contract from './contract.ts';
import { FirstStart } from './first-start.ts';
import { consolePage, PAGE_HEADERS } from './page.ts';

const RETRY_SECONDS = 5;
/** Its name changes with its content. */
const CACHED_FOR_EVER = 'public, max-age=31536000, immutable';

/** The web console: a page, and its scripts and style. Everything it shows comes from the API. */
export const consoleFeature = feature({
  name: 'console',
  endpoints: contract,
  uses: ['config', 'database', 'log', 'operatorTenantId'],
  build(parts) {
    const isOn = () => parts.config.isConsoleOn;
    let files: ConsoleFiles | null = null;
    const firstStart = new FirstStart(parts);
    const requireFiles = (): ConsoleFiles => {
      if (!isOn() || files === null)
        throw new CofferError('NOT_FOUND', 'The console is off. The API is described at /docs.');
      return files;
    };
    const page = async (ctx: Context) => {
      const manifest = await requireFiles().manifest();
      if (manifest === null) {
        throw new CofferError(
          'UNAVAILABLE',
          'The console is not built: the log of the service says why. The API works.',
          {
            retryAfterSeconds: RETRY_SECONDS,
          },
        );
      }
      for (const [name, value] of Object.entries(PAGE_HEADERS)) ctx.setHeader(name, value);
      return consolePage(manifest, await firstStart.isNow());
    };
    const file = async (ctx: Context, name: string, encodings = ['br']) => {
      const accepted = String(ctx.call.headers['accept-encoding'] ?? '');
      const isCompressed = encodings.includes('br') && /\bbr\b/.test(accepted);
      const bytes = await requireFiles().file(name, isCompressed);
      if (bytes === null) throw new CofferError('NOT_FOUND', 'The console has no such file: load the page again.');
      ctx.setHeader('Cache-Control', CACHED_FOR_EVER);
      ctx.setHeader('Vary', 'Accept-Encoding');
      if (isCompressed) ctx.setHeader('Content-Encoding', 'br');
      return bytes;
    };
    return {
      handlers: {
        getConsole: (ctx) => page(ctx),
        getConsoleScript: (ctx, { params }) => file(ctx, params.file),
        getConsoleStyle: (ctx, { params }) => file(ctx, params.file),
        getConsoleIcons: (ctx, { params }) => file(ctx, params.file),
        // A font is compressed already.
        getConsoleFont: (ctx, { params }) => file(ctx, params.file, []),
      },
      async open() {
        if (!isOn()) return;
        files = new ConsoleFiles(parts.log);
        await files.open();
      },
      settled: async () => files?.settled(),
    };
  },
});
