import type { Page } from 'playwright-core';

/** What of these elements has less contrast than 4.5 to 1 with what it stands on. */
export function faint(page: Page, selector: string): Promise<string[]> {
  return page.evaluate(faintInPage, selector);
}

function faintInPage(selector: string): string[] {
  type Colour = [number, number, number, number];
  const parse = (text: string): Colour => {
    const [r = 0, g = 0, b = 0, alpha = 1] = (text.match(/[\d.]+/g) ?? []).map(Number);
    return [r, g, b, alpha];
  };
  const over = ([r, g, b, alpha]: Colour, [r0, g0, b0]: Colour): Colour => {
    const mix = (above: number, below: number) => above * alpha + below * (1 - alpha);
    return [mix(r, r0), mix(g, g0), mix(b, b0), 1];
  };
  const groundOf = (element: Element | null): Colour => {
    if (element === null) return [255, 255, 255, 1];
    const own = parse(getComputedStyle(element).backgroundColor);
    return own[3] === 1 ? own : over(own, groundOf(element.parentElement));
  };
  const luminance = ([r, g, b]: Colour) => {
    const linear = (part: number) => (part <= 10 ? part / 3294 : ((part / 255 + 0.055) / 1.055) ** 2.4);
    return 0.2126 * linear(r) + 0.7152 * linear(g) + 0.0722 * linear(b);
  };
  const found = new Set<string>();
  for (const element of document.querySelectorAll(selector)) {
    const text = element.textContent?.trim();
    if (!text || !element.checkVisibility()) continue;
    const ground = groundOf(element);
    const { color } = getComputedStyle(element);
    const [dark = 0, light = 0] = [luminance(over(parse(color), ground)), luminance(ground)].sort((a, b) => a - b);
    const contrast = (light + 0.05) / (dark + 0.05);
    if (contrast < 4.5)
      found.add(`${contrast.toFixed(2)}: ${color} on rgb(${ground.slice(0, 3).map(Math.round)}): ${text}`);
  }
  return [...found];
}
