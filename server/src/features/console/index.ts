import { CofferError } from '../../kernel/platform/errors.ts';
import type { Feature } from '../../kernel/platform/feature.ts';
import type { Kernel } from '../../kernel/platform/kernel.ts';
import { bindContract } from '../../kernel/request/binding.ts';
import type { Context } from '../../kernel/request/context.ts';
import { ConsoleFiles } from './console-files.ts';
import * as contract from './contract.ts';
import { FirstStart } from './first-start.ts';
import { consolePage, PAGE_HEADERS } from './page.ts';

const RETRY_SECONDS = 5;
/** Its name changes with its content. */
const CACHED_FOR_EVER = 'public, max-age=31536000, immutable';

/** The web console: a page, and its scripts and style. Everything it shows comes from the API. */
export function consoleFeature(kernel: Kernel): Feature {
  const isOn = () => kernel.config.isConsoleOn;
  let files: ConsoleFiles | null = null;
  const firstStart = new FirstStart(kernel);
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
  const file = async (ctx: Context, name: string) => {
    const isCompressed = /\bbr\b/.test(String(ctx.call.headers['accept-encoding'] ?? ''));
    const bytes = await requireFiles().file(name, isCompressed);
    if (bytes === null) throw new CofferError('NOT_FOUND', 'The console has no such file: load the page again.');
    ctx.setHeader('Cache-Control', CACHED_FOR_EVER);
    ctx.setHeader('Vary', 'Accept-Encoding');
    if (isCompressed) ctx.setHeader('Content-Encoding', 'br');
    return bytes;
  };
  return {
    name: 'console',
    endpoints: bindContract(contract, {
      getConsole: (ctx) => page(ctx),
      getConsoleScript: (ctx, { params }) => file(ctx, params.file),
      getConsoleStyle: (ctx, { params }) => file(ctx, params.file),
    }),
    async open() {
      if (!isOn()) return;
      files = new ConsoleFiles(kernel.log);
      await files.open();
    },
    settled: async () => files?.settled(),
  };
}
