// The page is complete without this file; Swagger's page takes the place of the plain list.
"use strict";

// Swagger's own colours for a dark page hang on a class.
const dark = matchMedia("(prefers-color-scheme: dark)");
const followColours = () => document.documentElement.classList.toggle("dark-mode", dark.matches);
dark.addEventListener("change", followColours);
followColours();

const operations = document.getElementById("operations");
if (operations && window.SwaggerUIBundle) {
  window.SwaggerUIBundle({
    domNode: operations,
    url: operations.dataset.schema,
    docExpansion: "list",
    defaultModelsExpandDepth: 0,
    tryItOutEnabled: true,
    validatorUrl: null,
  });
}
