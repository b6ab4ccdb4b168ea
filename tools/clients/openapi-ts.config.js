export default {
  input: "./docs/openapi.json",
  // Node finds modules by their whole names.
  output: { path: "var/clients/hey", importFileExtension: ".js" },
};
