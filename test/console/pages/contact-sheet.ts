import type { Browser, Page } from 'playwright-core';

/** Pictures of pages, made small and put side by side into one PNG, so that all references together stay small. */

export const COLUMNS = 6;
/** Two pixels differ if one of their colours differs by more than this, of 255. Smaller ones are how letters are smoothed. */
const COLOUR_TOLERANCE = 48;

export interface Tile {
  readonly width: number;
  readonly height: number;
}

/** Draws in a page of its own, because the console's policy forbids images from data. */
export async function onBlankPage<T>(browser: Browser, work: (page: Page) => Promise<T>): Promise<T> {
  const page = await browser.newPage();
  try {
    return await work(page);
  } finally {
    await page.close();
  }
}

const LOAD = `const load = async (base64) => {
  const image = new Image();
  image.src = 'data:image/png;base64,' + base64;
  await image.decode();
  return image;
};
const canvasOf = (width, height) => {
  const canvas = document.createElement('canvas');
  Object.assign(canvas, { width, height });
  return canvas;
};`;

/** One PNG with all pictures, from left to right and from top to bottom. */
export async function sheetOf(page: Page, pictures: readonly Buffer[], tile: Tile): Promise<Buffer> {
  const input = JSON.stringify({ pictures: pictures.map((each) => each.toString('base64')), tile, columns: COLUMNS });
  const base64 = await page.evaluate(`(async () => {
    ${LOAD}
    const { pictures, tile, columns } = ${input};
    const sheet = canvasOf(columns * tile.width, Math.ceil(pictures.length / columns) * tile.height);
    const context = sheet.getContext('2d');
    context.imageSmoothingQuality = 'high';
    for (const [index, picture] of pictures.entries()) {
      const x = (index % columns) * tile.width;
      const y = Math.floor(index / columns) * tile.height;
      context.drawImage(await load(picture), x, y, tile.width, tile.height);
    }
    return sheet.toDataURL('image/png').split(',')[1];
  })()`);
  return Buffer.from(String(base64), 'base64');
}

/** Which share of the pixels of each picture differs between two sheets; null if the sheets have different sizes. */
export async function differences(page: Page, [a, b]: readonly [Buffer, Buffer], tile: Tile): Promise<number[] | null> {
  const input = JSON.stringify({ a: a.toString('base64'), b: b.toString('base64'), tile, columns: COLUMNS });
  return (await page.evaluate(`(async () => {
    ${LOAD}
    const { a, b, tile, columns } = ${input};
    const [first, second] = [await load(a), await load(b)];
    if (first.width !== second.width || first.height !== second.height) return null;
    const contexts = [first, second].map((image) => {
      const context = canvasOf(image.width, image.height).getContext('2d');
      context.drawImage(image, 0, 0);
      return context;
    });
    const found = [];
    for (let y = 0; y < first.height; y += tile.height) {
      for (let x = 0; x < first.width; x += tile.width) {
        const [one, other] = contexts.map((context) => context.getImageData(x, y, tile.width, tile.height).data);
        let differing = 0;
        for (let i = 0; i < one.length; i += 4) {
          if ([0, 1, 2].some((c) => Math.abs(one[i + c] - other[i + c]) > ${COLOUR_TOLERANCE})) differing++;
        }
        found.push(differing / (tile.width * tile.height));
      }
    }
    return found;
  })()`)) as number[] | null;
}
