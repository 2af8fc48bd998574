// map.mjs ATLAS TOPOJSON CODES: writes an ES module with the outlines of the countries in a plate carrée of 720 × 360 units.
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";

const [atlasFile, topojsonFile, codesFile] = process.argv.slice(2);
const require = createRequire(import.meta.url);
const { feature } = require(topojsonFile);
const atlas = JSON.parse(readFileSync(atlasFile, "utf8"));
const codes = JSON.parse(readFileSync(codesFile, "utf8")); // of [alpha-2, alpha-3, numeric, …]
const alpha = new Map(codes.map(([two, , number]) => [number, two]));

const place = ([east, north]) => [Math.round((east + 180) * 20), Math.round((90 - north) * 20)];
// What crosses the date line is drawn on beyond the edge, and once more beyond the other.
function unbroken(ring) {
  let before = ring[0][0];
  return ring.map(([east, north]) => {
    while (east - before > 180) east -= 360;
    while (before - east > 180) east += 360;
    before = east;
    return [east, north];
  });
}
function twice(ring) {
  const whole = unbroken(ring);
  const shift = whole.some(([east]) => east > 180) ? -360 : whole.some(([east]) => east < -180) ? 360 : 0;
  return outline(whole) + (shift ? outline(whole.map(([east, north]) => [east + shift, north])) : "");
}
// Tenths of a unit, each point from the one before it.
function outline(ring) {
  let [x, y] = place(ring[0]);
  let path = `M${x / 10} ${y / 10}l`;
  for (const point of ring.slice(1, -1)) {
    const [nx, ny] = place(point);
    if (nx === x && ny === y) continue;
    path += `${(nx - x) / 10} ${(ny - y) / 10} `;
    [x, y] = [nx, ny];
  }
  return path.endsWith("l") ? "" : path.trimEnd() + "z"; // smaller than a tenth
}

const countries = {};
for (const { id, properties, geometry } of feature(atlas, atlas.objects.countries).features) {
  const code = alpha.get(id) ?? "";
  if (code === "AQ") continue; // nobody connects from there
  const polygons = geometry.type === "Polygon" ? [geometry.coordinates] : geometry.coordinates;
  const key = code || properties.name;
  countries[key] = [properties.name, polygons.map((rings) => rings.map(twice).join("")).join("")];
}
console.log("// Countries: name and outline. Made by tools/vendored.sh of Natural Earth's 1:110m data (public domain) by way of world-atlas.");
console.log("export const width = 720, height = 300;");
console.log("export const countries = {");
for (const key of Object.keys(countries).sort()) console.log(`${JSON.stringify(key)}:${JSON.stringify(countries[key])},`);
console.log("};");
