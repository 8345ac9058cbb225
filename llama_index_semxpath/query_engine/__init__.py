"""From a question to a cited answer: intent, routes, context, synthesis."""
