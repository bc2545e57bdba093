// Run in the page: a list of what keeps people from using it, in words. Contrast is that of WCAG 2, level AA.
() => {
  const faults = [];
  const shown = (element) => element.checkVisibility({ checkOpacity: true, checkVisibilityCSS: true });
  const where = (element) => `${element.tagName.toLowerCase()}.${element.getAttribute("class") ?? ""} "${element.textContent.trim().slice(0, 40)}"`;

  const names = [...document.querySelectorAll("[id]")].map(({ id }) => id);
  for (const name of new Set(names.filter((id, place) => names.indexOf(id) !== place))) faults.push(`id ${name} is there twice`);
  for (const attribute of ["aria-labelledby", "aria-describedby"]) {
    for (const element of document.querySelectorAll(`[${attribute}]`)) {
      for (const id of element.getAttribute(attribute).split(" ")) {
        if (!document.getElementById(id)) faults.push(`${attribute} of ${where(element)} names ${id}, which is not there`);
      }
    }
  }
  for (const control of document.querySelectorAll("input, select, textarea, progress")) {
    if (!control.labels?.length && !control.getAttribute("aria-label")) faults.push(`${where(control)} has no label`);
  }
  for (const element of document.querySelectorAll("a[href], button")) {
    if (!(element.getAttribute("aria-label") ?? element.textContent).trim()) faults.push(`${where(element)} has no name`);
  }
  for (const drawing of document.querySelectorAll("svg")) {
    if (!drawing.getAttribute("aria-label") && drawing.getAttribute("aria-hidden") !== "true") faults.push("a drawing says nothing");
  }
  for (const landmark of ["header", "nav[aria-label]", "main", "h1", "html[lang]"]) {
    if (!document.querySelector(landmark)) faults.push(`there is no ${landmark}`);
  }
  let last = 0;
  for (const heading of [...document.querySelectorAll("main :is(h1, h2, h3, h4)")].filter(shown)) {
    const level = Number(heading.tagName[1]);
    if (level > last + 1) faults.push(`${where(heading)} skips a level`);
    last = level;
  }

  const rgba = (text) => {
    const [red, green, blue, alpha = 1] = text.match(/[\d.]+/g).map(Number);
    return { red, green, blue, alpha };
  };
  const over = (top, below) => {
    const mix = (name) => top[name] * top.alpha + below[name] * (1 - top.alpha);
    return { red: mix("red"), green: mix("green"), blue: mix("blue"), alpha: 1 };
  };
  const light = ({ red, green, blue }) => {
    const [r, g, b] = [red, green, blue].map((part) => (part / 255 <= 0.04045 ? part / 255 / 12.92 : ((part / 255 + 0.055) / 1.055) ** 2.4));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const contrast = (one, other) => {
    const [low, high] = [light(one), light(other)].sort((first, second) => first - second);
    return (high + 0.05) / (low + 0.05);
  };
  const behind = (element) => {
    const layers = [];
    for (let at = element; at; at = at.parentElement) layers.push(rgba(getComputedStyle(at).backgroundColor));
    return layers.reverse().reduce((below, top) => over(top, below), { red: 255, green: 255, blue: 255, alpha: 1 });
  };
  const judge = (element, ink, ground, large) => {
    const found = contrast(ink, ground);
    if (found < (large ? 3 : 4.5)) faults.push(`${where(element)} has a contrast of ${found.toFixed(2)}`);
  };
  const own = (element) => [...element.childNodes].some((node) => node.nodeType === Node.TEXT_NODE && node.textContent.trim());
  for (const element of document.body.querySelectorAll(":not(svg *)")) {
    if (!own(element) || !shown(element) || element.closest("[disabled], .unseen, noscript, option")) continue;
    const style = getComputedStyle(element);
    judge(element, over(rgba(style.color), behind(element)), behind(element), parseFloat(style.fontSize) >= 24);
  }
  for (const text of document.querySelectorAll("svg text")) {
    const cell = [...text.classList].find((name) => name.startsWith("step-"));
    const ground = cell ? rgba(getComputedStyle(text.ownerSVGElement.querySelector(`rect.${cell}`)).fill) : behind(text.ownerSVGElement.parentElement);
    judge(text, rgba(getComputedStyle(text).fill), ground, false);
  }
  return faults;
}
