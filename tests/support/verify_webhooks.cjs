// Verifies deliveries with the library that receivers written in JavaScript use.
// In: a JSON array of {secret, body, headers}. Out: a JSON array of true and false.
const { Webhook } = require(process.argv[2]);

const verify = ({ secret, body, headers }) => {
  try {
    new Webhook(secret).verify(body, headers);
    return true;
  } catch {
    return false;
  }
};

let given = "";
process.stdin.on("data", (chunk) => { given += chunk; });
process.stdin.on("end", () => console.log(JSON.stringify(JSON.parse(given).map(verify))));
